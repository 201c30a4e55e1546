/**
 * The configuration text of a workerd process that serves one built Worker on 127.0.0.1, with its
 * objects in SQLite files below one folder. A pure function: the process is started elsewhere.
 */
import type { WorkerBuild } from "./workerBuild.ts"

export interface ServedWorker {
  readonly build: WorkerBuild
  /** The file that holds the bundle's text, beside the configuration. */
  readonly moduleFile: string
  /** An absolute path of an existing folder. */
  readonly persistDir: string
  /** 0 takes a free one. */
  readonly port: number
  /** Text bindings, over those of the wrangler configuration. */
  readonly vars: Readonly<Record<string, string>>
}

// Cap'n Proto's text format reads C-style escapes; JSON's are a subset but for \u and \/.
const text = (value: string): string =>
  `"${[...Buffer.from(value, "utf8")]
    .map((byte) =>
      byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c
        ? String.fromCharCode(byte)
        : `\\x${byte.toString(16).padStart(2, "0")}`,
    )
    .join("")}"`

const list = (items: ReadonlyArray<string>): string => `[ ${items.join(",\n    ")} ]`

const bindings = (worker: ServedWorker): ReadonlyArray<string> => {
  const { build } = worker
  const vars = Object.entries({ ...build.vars, ...worker.vars })
  const metadata = JSON.stringify({ id: build.version, tag: "", timestamp: "" })
  return [
    ...build.objects.map(
      ({ binding, className }) =>
        `(name = ${text(binding)}, durableObjectNamespace = ${text(className)})`,
    ),
    ...vars.map(([name, value]) => `(name = ${text(name)}, text = ${text(value)})`),
    ...(build.versionBinding === undefined
      ? []
      : [`(name = ${text(build.versionBinding)}, json = ${text(metadata)})`]),
  ]
}

/** The unique key is the class name: the folder is this Worker's own. */
const namespaces = (build: WorkerBuild): ReadonlyArray<string> =>
  [...new Set(build.objects.map((object) => object.className))].map(
    (name) => `(className = ${text(name)}, uniqueKey = ${text(name)}, enableSql = true)`,
  )

/** The text that `workerd serve` reads. */
export const workerdConfig = (
  worker: ServedWorker,
): string => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [ (name = "main", worker = .mainWorker),
    (name = "storage", disk = (path = ${text(worker.persistDir)}, writable = true)),
    (name = "internet", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true))) ],
  sockets = [ (name = "http", address = "127.0.0.1:${worker.port}", http = (), service = "main") ]
);
const mainWorker :Workerd.Worker = (
  modules = [ (name = "worker.js", esModule = embed ${text(worker.moduleFile)}) ],
  compatibilityDate = ${text(worker.build.compatibilityDate)},
  compatibilityFlags = ${list(worker.build.compatibilityFlags.map(text))},
  bindings = ${list(bindings(worker))},
  durableObjectNamespaces = ${list(namespaces(worker.build))},
  durableObjectStorage = (localDisk = "storage")
);
`
