/**
 * Rules about what may be done where.
 *
 * - P1 Effects are run in the membranes only, and each file that may do so does.
 * - P2 One file writes the alarm; threads have none.
 * - P3 Objects take time, chance and timers from their host.
 * - P4 One file, and the constructors of the classes, know the platform's state.
 * - P5 A unit test that takes over what its process has once runs alone.
 * - P6 One file of the console asks the reader's clock, which may be wrong.
 */
import { matchesGlob } from "node:path"
import { alone } from "../alone.ts"
import { folderOf, isProduct, type Repository, type Violation } from "./Repository.ts"
import type { Name, SourceFile } from "./SourceFile.ts"

/** Where a fiber may be started: the edges between the platform's promises and effects. */
export const membranes: ReadonlyArray<string> = [
  "client/Entrypoint.ts",
  "client/Http.ts",
  "contracts/observability/Otlp.ts",
  "contracts/transport/NativeCall.ts",
  "contracts/transport/WireServer.ts",
  "client/Scheduled.ts",
  "owner-object/OwnerRuntime.ts",
  "owner-object/RegistryRuntime.ts",
  "testing/Caller.ts",
  "testing/Doing.ts",
  "thread-actors/ThreadRuntime.ts",
]

/** Who may know `DurableObjectState`. */
const knowsPlatform: ReadonlyArray<string> = [
  "owner-object/OwnerObject.ts",
  "owner-object/OwnerRegistry.ts",
  "platform/DurableObjectStorage.ts",
  "thread-actors/ThreadActor.ts",
]

const at = (file: SourceFile, { line, name }: Name, why: string): Violation =>
  `${file.path}:${line}: ${name}: ${why}`

const last = (name: string): string => name.slice(name.lastIndexOf(".") + 1)

const runsEffect = ({ name }: Name): boolean =>
  /^run(Promise|Fork|Sync|Callback)(Exit)?(With)?$/.test(last(name))

/** P1 */
export const effectsRunInMembranes = (
  { sources }: Repository,
  allowed = membranes,
): ReadonlyArray<Violation> => {
  const runners = sources.filter((file) => isProduct(file.path) && file.names.some(runsEffect))
  const elsewhere = runners
    .filter((file) => !allowed.includes(file.path)) // P1
    .flatMap((file) => file.names.filter(runsEffect).map((name) => at(file, name, "no membrane")))
  const idle = allowed
    .filter((path) => !runners.some((file) => file.path === path)) // P1
    .map((path) => `${path}: may run effects but does not: take it off the list`)
  return [...elsewhere, ...idle]
}

const alarmFile = "owner-object/AlarmSlot.ts"

const writesAlarm = ({ name }: Name): boolean =>
  /^(set|delete)Alarm$/.test(last(name)) || /(^|\.)alarm\.(set|delete)$/.test(name)

/** P2 */
export const oneFileWritesTheAlarm = ({ sources }: Repository): ReadonlyArray<Violation> =>
  sources
    .filter((file) => isProduct(file.path) && folderOf(file.path) !== "platform")
    .filter((file) => folderOf(file.path) !== "testing" && file.path !== alarmFile) // P2
    .flatMap((file) => {
      const writes = file.names
        .filter(writesAlarm)
        .map((name) => at(file, name, "writes the alarm"))
      const holds = file.imports
        .filter((one) => one.from.endsWith("platform/ObjectStorage.ts"))
        .filter((one) => one.names.includes("AlarmSlot"))
        .map((one) => `${file.path}:${one.line}: only ${alarmFile} may hold the alarm's slot`)
      return [...writes, ...holds]
    })

const objectFolders = ["contracts", "thread-actors", "owner-object"]

const takesTimeOrChance = ({ name }: Name): boolean =>
  /^(globalThis\.)?(Date\.now|Math\.random|performance\.now)$/.test(name) ||
  /^(globalThis\.)?(setTimeout|setInterval|setImmediate)$/.test(name) ||
  /^(new )?(globalThis\.)?Date\(\)$/.test(name)

const takesRandomBytes = ({ name }: Name): boolean =>
  /(^|\.)crypto\.(randomUUID|getRandomValues)$/.test(name)

/** P3. The transport in contracts may make ids for calls. */
export const objectsUseTheirHost = ({ sources }: Repository): ReadonlyArray<Violation> =>
  sources
    .filter((file) => objectFolders.includes(folderOf(file.path)))
    .flatMap((file) => {
      const isObject = folderOf(file.path) !== "contracts"
      return file.names
        .filter((name) => takesTimeOrChance(name) || (isObject && takesRandomBytes(name))) // P3
        .map((name) => at(file, name, "take it from the host"))
    })

/** P4 */
export const oneAdapterKnowsThePlatform = ({ sources }: Repository): ReadonlyArray<Violation> =>
  sources
    .filter((file) => isProduct(file.path) && !knowsPlatform.includes(file.path))
    .flatMap((file) =>
      file.names
        .filter(({ name }) => /^DurableObject(State|Storage|Transaction)$/.test(last(name))) // P4
        .map((name) => at(file, name, "known to the platform adapter alone")),
    )

const consoleClock = "console/state/Now.ts"

/** P6 */
export const oneFileAsksTheReadersClock = ({ sources }: Repository): ReadonlyArray<Violation> =>
  sources
    .filter((file) => folderOf(file.path) === "console" && file.path !== consoleClock) // P6
    .flatMap((file) =>
      file.names
        .filter(({ name }) =>
          /^(globalThis\.)?Date\.now$|^(new )?(globalThis\.)?Date\(\)$/.test(name),
        )
        .map((name) => at(file, name, `ask ${consoleClock} for the deployment's time`)),
    )

const takesOver = [
  /\bvi\.(useFakeTimers|getTimerCount|setSystemTime|stubGlobal)\b/,
  /\bspyOn\(\s*(console|globalThis)\b/,
  /from "[^"]*\/(logged|consoleLines|consolePage)\.ts"/, // They spy on the console, or stand in for a window.
]

/** P5 */
export const whoTakesOverIsAlone = ({ texts }: Repository): ReadonlyArray<Violation> =>
  [...texts]
    .filter(([path]) => /^(test\/unit|examples)\/.*\.test\.ts$/.test(path))
    .filter(([path]) => !path.endsWith("tidy.test.ts")) // Its samples are texts.
    .filter(([, text]) => takesOver.some((words) => words.test(text)))
    .filter(([path]) => !alone.some((glob) => matchesGlob(path, glob))) // P5
    .map(([path]) => `${path}: takes over its process: name it in test/alone.ts`)
