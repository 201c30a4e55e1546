/** `heddle owners`: the owners of a deployment. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { OwnerId } from "../../contracts/Identifiers.ts"
import { pageFlags, pageOf, showPages } from "../Pages.ts"
import { withSession } from "../Session.ts"
import { isoOf } from "../Times.ts"

export const owners = Command.make("owners", pageFlags, (flags) =>
  withSession((session) =>
    showPages(session, flags, {
      name: "owners",
      page: ({ after, limit }) =>
        session.client.rpc
          .listOwners({
            ...(limit === undefined ? {} : { limit }),
            ...(after === undefined ? {} : { after: OwnerId.make(after) }),
          })
          .pipe(Effect.map((page) => pageOf(page.owners, page.next))),
      headings: ["owner", "entered", "looked at", "owed then"],
      cells: (row) => [
        row.ownerId,
        isoOf(row.enteredAt),
        row.lookedAt === undefined ? undefined : isoOf(row.lookedAt),
        row.owed,
      ],
      empty: "No owner has entered yet.",
    }),
  ),
).pipe(
  Command.withDescription(
    "List the owners of the deployment, by id. Needs a token whose grants name every owner (*).",
  ),
  Command.withShortDescription("List owners"),
  Command.withExamples([{ command: "heddle owners --all" }]),
)
