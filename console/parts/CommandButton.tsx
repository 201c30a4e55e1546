/**
 * A button that opens the form of a command.
 *
 * - B1 Whoever pressed one that then goes away, as a decision has it, goes on in the page and not before its beginning.
 */
import { useLayoutEffect, useRef } from "preact/hooks"
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
}) => {
  const button = useRef<HTMLButtonElement>(null)
  useLayoutEffect(() => {
    const { current } = button
    return () => {
      if (current !== null && document.activeElement === current)
        document.querySelector("main")?.focus({ preventScroll: true }) // B1
    }
  }, [])
  return (
    <button
      ref={button}
      type="button"
      class={quiet ? "quiet small" : "small"}
      data-command={command.kind}
      onClick={() => (asked.value = { ownerId, command, done })}
    >
      {wordsOfCommand(command.kind).verb}
    </button>
  )
}
