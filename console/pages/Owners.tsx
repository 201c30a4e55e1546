/** The owners of the deployment, or the way to one by its id. */
import { useEffect, useState } from "preact/hooks"
import type { OwnerSummary } from "../../client/sdk/index.ts"
import { hrefOf } from "../lib/Route.ts"
import { onlyOwner } from "../lib/Token.ts"
import { Failure } from "../parts/Failure.tsx"
import { Ago } from "../parts/Time.tsx"
import { heddle, isRefusal } from "../state/Deployment.ts"
import { useLoad } from "../state/Load.ts"
import { goTo, replaceWith } from "../state/Location.ts"
import { words } from "../state/Session.ts"

const ById = () => {
  const [ownerId, setOwnerId] = useState("")
  const open = (event: Event) => {
    event.preventDefault()
    if (ownerId.trim() !== "") goTo({ page: "owner", ownerId: ownerId.trim() })
  }
  return (
    <form class="by-id" onSubmit={open}>
      <label class="field">
        <span>An owner by its id</span>
        <input
          type="text"
          class="code"
          autocomplete="off"
          spellcheck={false}
          value={ownerId}
          onInput={(event) => setOwnerId(event.currentTarget.value)}
        />
      </label>
      <button type="submit">Open</button>
    </form>
  )
}

const Row = ({ owner }: { readonly owner: OwnerSummary }) => (
  <li>
    <a class="row-link" href={hrefOf({ page: "owner", ownerId: owner.ownerId })}>
      <span class="mono clip">{owner.ownerId}</span>
      <span>{owner.owed ? "owed something" : "owed nothing"}</span>
      <span class="dim">
        {owner.lookedAt === undefined ? "not looked at yet" : <Ago at={owner.lookedAt} />}
      </span>
    </a>
  </li>
)

const List = () => {
  const [pages, setPages] = useState<ReadonlyArray<string | undefined>>([undefined])
  return (
    <ul class="rows" aria-label="Owners">
      {pages.map((after, index) => (
        <Page
          key={after ?? ""}
          after={after}
          more={
            index === pages.length - 1
              ? (next) => setPages((before) => [...before, next])
              : undefined
          }
        />
      ))}
    </ul>
  )
}

const Page = ({
  after,
  more,
}: {
  readonly after: string | undefined
  readonly more: ((next: string) => void) | undefined
}) => {
  const { error, reload, value } = useLoad(`owners ${after ?? ""}`, (signal) =>
    heddle.listOwners(after === undefined ? {} : { after }, { signal }),
  )
  if (error !== undefined) {
    const isDenied = isRefusal(error, "OperationDenied")
    return isDenied ? (
      <li class="empty">Your token does not list all owners: open one by its id.</li>
    ) : (
      <li>
        <Failure error={error} again={reload} />
      </li>
    )
  }
  if (value === undefined) return <li class="empty">Asking the registry…</li>
  const { next, owners } = value
  return (
    <>
      {owners.length === 0 && after === undefined ? (
        <li class="empty">No owner has had work yet.</li>
      ) : undefined}
      {owners.map((owner) => (
        <Row key={owner.ownerId} owner={owner} />
      ))}
      {next === undefined || more === undefined ? undefined : (
        <li>
          <button type="button" class="quiet" onClick={() => more(next)}>
            More owners
          </button>
        </li>
      )}
    </>
  )
}

export const Owners = () => {
  const only = onlyOwner(words.value)
  useEffect(() => {
    if (only !== undefined) replaceWith({ page: "owner", ownerId: only }, { page: "owners" })
  }, [only])
  return (
    <div class="page narrow">
      <h1>Owners</h1>
      <p class="lead">
        One for each tenant. What is told of each is what the hourly look has seen.
      </p>
      <ById />
      <List />
    </div>
  )
}
