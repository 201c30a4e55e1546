/** The whole command `heddle`: its commands, in the groups that `--help` shows. */
import { Effect } from "effect"
import { Argument, Command, Completions } from "effect/cli"
import { abort } from "./commands/Abort.ts"
import { approve, deny } from "./commands/Approve.ts"
import { explain } from "./commands/Explain.ts"
import { forget } from "./commands/Forget.ts"
import { history } from "./commands/History.ts"
import { maintenance } from "./commands/Maintenance.ts"
import { obligations } from "./commands/Obligations.ts"
import { console } from "./commands/Console.ts"
import { owners } from "./commands/Owners.ts"
import { pause, resume } from "./commands/Pause.ts"
import { rebuild } from "./commands/Rebuild.ts"
import { reconcile } from "./commands/Reconcile.ts"
import { recovery } from "./commands/Recovery.ts"
import { resolve } from "./commands/Resolve.ts"
import { resubmit } from "./commands/Resubmit.ts"
import { retry } from "./commands/Retry.ts"
import { schedule, schedules, unschedule } from "./commands/Schedule.ts"
import { search } from "./commands/Search.ts"
import { callback, signal } from "./commands/Signal.ts"
import { state } from "./commands/State.ts"
import { status } from "./commands/Status.ts"
import { submit } from "./commands/Submit.ts"
import { tail } from "./commands/Tail.ts"
import { threads } from "./commands/Threads.ts"
import { verify } from "./commands/Verify.ts"
import { wait } from "./commands/Wait.ts"
import { wake } from "./commands/Wake.ts"
import { watch } from "./commands/Watch.ts"
import { Output } from "./Output.ts"
import { root } from "./Root.ts"

const completion = Command.make(
  "completion",
  {
    shell: Argument.Literals("shell", ["bash", "zsh", "fish"]).pipe(
      Argument.withDescription("The shell"),
    ),
  },
  Effect.fnUntraced(function* ({ shell }) {
    const output = yield* Output
    const script = Completions.generate("heddle", shell, Completions.fromCommand(whole()))
    // The script tells how to install it; the flag that it names for that is not one of heddle's.
    yield* output.print(script.replaceAll("heddle --completions ", "heddle completion "))
  }),
).pipe(
  Command.withDescription("Print what a shell needs to complete heddle's commands and flags."),
  Command.withShortDescription("Print a shell's completion script"),
  Command.withExamples([
    { command: 'eval "$(heddle completion bash)"', description: "In ~/.bashrc" },
    { command: 'heddle completion zsh > "${fpath[1]}/_heddle"' },
    { command: "heddle completion fish > ~/.config/fish/completions/heddle.fish" },
  ]),
)

const commands = [
  { group: "Submit and follow", commands: [submit, wait, status, history, tail, state] },
  { group: "Answer", commands: [approve, deny, signal, callback] },
  { group: "Schedule", commands: [schedule, schedules, unschedule] },
  { group: "Decide", commands: [abort, resolve, retry, resubmit, pause, resume, forget] },
  { group: "Look", commands: [explain, obligations, threads, search, watch, recovery, verify] },
  { group: "Operate", commands: [maintenance, wake, reconcile, rebuild, owners, console] },
  { group: "Terminal", commands: [completion] },
] as const

export const heddle = root.pipe(Command.withSubcommands(commands))

/** The whole, for one of its parts. */
function whole(): Command.Command.Any {
  return heddle
}
