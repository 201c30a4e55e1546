/**
 * The configuration text of a workerd process that serves a built Worker on 127.0.0.1, with its
 * objects in SQLite files below one folder; or another Worker that has service bindings to it. A pure
 * function: the process is started elsewhere.
 */
import type { ServiceBinding, WorkerBuild } from "./workerBuild.ts"

/** A Worker and the file that holds its bundle's text, beside the configuration. */
export interface PlacedWorker {
  readonly build: WorkerBuild
  readonly moduleFile: string
}

/** The Worker of the static assets, and the files that hold its script and its modules. */
export interface PlacedAssets {
  readonly binding: string
  readonly scriptFile: string
  readonly modules: ReadonlyArray<{ readonly name: string; readonly file: string }>
}

export interface ServedWorker extends PlacedWorker {
  readonly assets?: PlacedAssets | undefined
  /** Another Worker, which is served instead, and reaches this one by its service bindings. */
  readonly front?: PlacedWorker | undefined
  /** An absolute path of an existing folder. */
  readonly persistDir: string
  /** 0 takes a free one. */
  readonly port: number
  /** Text bindings, over those of the wrangler configuration. */
  readonly vars: Readonly<Record<string, string>>
  /** Of the JavaScript engine; none by default. */
  readonly v8Flags?: ReadonlyArray<string> | undefined
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
    ...(worker.assets === undefined
      ? []
      : [`(name = ${text(worker.assets.binding)}, service = "assets")`]),
  ]
}

/** The unique key is the class name: the folder is this Worker's own. */
const namespaces = (build: WorkerBuild): ReadonlyArray<string> =>
  [...new Set(build.objects.map((object) => object.className))].map(
    (name) => `(className = ${text(name)}, uniqueKey = ${text(name)}, enableSql = true)`,
  )

/** A service binding of the Worker in front. Throws when it is to another Worker than the one behind. */
const serviceBinding = (one: ServiceBinding, behind: WorkerBuild): string => {
  if (one.service !== behind.name) {
    throw new Error(`${one.binding} is bound to ${one.service}, and here is ${behind.name}`)
  }
  const entrypoint = one.entrypoint === undefined ? "" : `, entrypoint = ${text(one.entrypoint)}`
  const props =
    one.props === undefined ? "" : `, props = (json = ${text(JSON.stringify(one.props))})`
  return `(name = ${text(one.binding)}, service = (name = "main"${entrypoint}${props}))`
}

const workerBasics = ({ build, moduleFile }: PlacedWorker): string =>
  `modules = [ (name = "worker.js", esModule = embed ${text(moduleFile)}) ],
  compatibilityDate = ${text(build.compatibilityDate)},
  compatibilityFlags = ${list(build.compatibilityFlags.map(text))}`

const frontWorker = ({ front, build }: ServedWorker): string =>
  front === undefined
    ? ""
    : `const frontWorker :Workerd.Worker = (
  ${workerBasics(front)},
  bindings = ${list([
    ...Object.entries(front.build.vars).map(
      ([name, value]) => `(name = ${text(name)}, text = ${text(value)})`,
    ),
    ...front.build.services.map((one) => serviceBinding(one, build)),
  ])}
);
`

const assetsWorker = ({ assets, build }: ServedWorker): string =>
  assets === undefined
    ? ""
    : `const assetsWorker :Workerd.Worker = (
  modules = ${list([
    `(name = "assets.js", esModule = embed ${text(assets.scriptFile)})`,
    ...assets.modules.map(({ file, name }) => `(name = ${text(name)}, data = embed ${text(file)})`),
  ])},
  compatibilityDate = ${text(build.compatibilityDate)}
);
`

/** The Workers beside the main one, as services of their names. */
const besides = ({ assets, front }: ServedWorker): string =>
  [
    ...(front === undefined ? [] : [`(name = "front", worker = .frontWorker)`]),
    ...(assets === undefined ? [] : [`(name = "assets", worker = .assetsWorker)`]),
  ]
    .map((service) => `\n    ${service},`)
    .join("")

/** The text that `workerd serve` reads. */
export const workerdConfig = (
  worker: ServedWorker,
): string => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [ (name = "main", worker = .mainWorker),${besides(worker)}
    (name = "storage", disk = (path = ${text(worker.persistDir)}, writable = true)),
    (name = "internet", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true))) ],
  sockets = [ (name = "http", address = "127.0.0.1:${worker.port}", http = (), service = "${worker.front === undefined ? "main" : "front"}") ]${worker.v8Flags === undefined ? "" : `,\n  v8Flags = ${list(worker.v8Flags.map(text))}`}
);
const mainWorker :Workerd.Worker = (
  ${workerBasics(worker)},
  bindings = ${list(bindings(worker))},
  durableObjectNamespaces = ${list(namespaces(worker.build))},
  durableObjectStorage = (localDisk = "storage")
);
${frontWorker(worker)}${assetsWorker(worker)}`
