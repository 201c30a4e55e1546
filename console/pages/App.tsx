/** Which page is shown. */
import { hrefOf, type Route } from "../lib/Route.ts"
import { Shell } from "../parts/Shell.tsx"
import { route } from "../state/Location.ts"
import { reader, token } from "../state/Session.ts"
import { Door } from "./Door.tsx"
import { Fault, Faults } from "./Faults.tsx"
import { Obligations } from "./Obligations.tsx"
import { Owner } from "./Owner.tsx"
import { Owners } from "./Owners.tsx"
import { Thread } from "./Thread.tsx"
import { Threads } from "./Threads.tsx"

const Nowhere = () => (
  <div class="page narrow">
    <h1>There is nothing here</h1>
    <p>
      <a href={hrefOf({ page: "owners" })}>All owners</a>
    </p>
  </div>
)

const PageOf = ({ at }: { readonly at: Route }) => {
  switch (at.page) {
    case "owners":
      return <Owners />
    case "owner":
      return <Owner key={at.ownerId} ownerId={at.ownerId} />
    case "threads":
      return <Threads key={at.ownerId} ownerId={at.ownerId} filter={at.filter} />
    case "thread":
      return (
        <Thread
          key={`${at.ownerId}/${at.threadId}`}
          ownerId={at.ownerId}
          threadId={at.threadId}
          submissionId={at.submissionId}
        />
      )
    case "obligations":
      return <Obligations key={at.ownerId} ownerId={at.ownerId} blocker={at.blocker} />
    case "faults":
      return <Faults key={at.ownerId} ownerId={at.ownerId} />
    case "fault":
      return (
        <Fault key={`${at.ownerId}/${at.threadId}`} ownerId={at.ownerId} threadId={at.threadId} />
      )
    case "nowhere":
      return <Nowhere />
  }
}

export const App = () =>
  token.value === "" ? (
    <Door />
  ) : (
    <Shell>
      <PageOf key={reader.value} at={route.value} />
    </Shell>
  )
