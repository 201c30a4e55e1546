/**
 * A Worker that stands in for the platform's static assets in a local workerd: it holds the files in its own modules, and
 * answers as the platform does to the paths that the console has. A pure function: the process is started elsewhere.
 */
import { createHash } from "node:crypto"
import type { AssetFile } from "./workerBuild.ts"

/** A file of the local Worker: a module of workerd's, beside the configuration. */
export interface AssetModule {
  readonly name: string
  readonly content: Uint8Array
}

export interface AssetsWorker {
  readonly script: string
  readonly modules: ReadonlyArray<AssetModule>
}

const types: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  md: "text/markdown; charset=utf-8",
  svg: "image/svg+xml",
  woff2: "font/woff2",
}

const typeOf = (path: string): string =>
  types[path.slice(path.lastIndexOf(".") + 1)] ?? "application/octet-stream"

/** A page is asked for by the path of its folder, as on the platform. */
const askedAs = (path: string): string => path.replace(/(^|\/)index\.html$/, "$1")

const isServed = ({ path }: AssetFile): boolean => !path.startsWith("/_")

const script = (files: ReadonlyArray<AssetFile>): string => {
  const imports = files.map((_, index) => `import file${index} from "asset-${index}"`)
  const entries = files.map(({ content, path }, index) => {
    const etag = `"${createHash("sha256").update(content).digest("hex").slice(0, 32)}"`
    const headers = { "content-type": typeOf(path), etag }
    return `[${JSON.stringify(askedAs(path))}, { body: file${index}, headers: ${JSON.stringify(headers)} }]`
  })
  return `${imports.join("\n")}
const files = new Map([
${entries.join(",\n")}
])
export default {
  fetch: (request) => {
    const file = files.get(new URL(request.url).pathname)
    if (file === undefined) return new Response(null, { status: 404 })
    const { body, headers } = file
    const isKnown = request.headers.get("if-none-match") === headers.etag
    if (isKnown) return new Response(null, { status: 304, headers })
    return new Response(request.method === "HEAD" ? null : body, { headers })
  },
}
`
}

/** The Worker of these files. */
export const assetsWorker = (all: ReadonlyArray<AssetFile>): AssetsWorker => {
  const files = all.filter(isServed)
  return {
    script: script(files),
    modules: files.map(({ content }, index) => ({ name: `asset-${index}`, content })),
  }
}
