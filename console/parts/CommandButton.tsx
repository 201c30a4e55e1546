/** A button that opens the form of a command. */
import { type Command, wordsOfCommand } from "../lib/Commands.ts"
import { asked } from "../state/Asked.ts"

export const CommandButton = ({
  command,
  done,
  ownerId,
  quiet = false,
}: {
  readonly ownerId: string
  readonly command: Command
  readonly done: () => void
  readonly quiet?: boolean
}) => (
  <button
    type="button"
    class={quiet ? "quiet small" : "small"}
    data-command={command.kind}
    onClick={() => (asked.value = { ownerId, command, done })}
  >
    {wordsOfCommand(command.kind).verb}
  </button>
)
