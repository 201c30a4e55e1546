/** A Worker under measurement, as load from outside reaches it: its control, and the product's client or bare requests. */
import { join } from "node:path"
import { Context, Effect, Layer, Scope } from "effect"
import { HeddleClient } from "../client/HeddleClient.ts"
import { OwnerId } from "../contracts/Identifiers.ts"
import { mintToken } from "../scripts/mintToken.ts"
import { temporaryFolder } from "../scripts/temporaryFolder.ts"
import { buildWorker, repositoryRoot, type WorkerBuild } from "../scripts/workerBuild.ts"
import { startWorkerd } from "../scripts/workerd.ts"
import { decodeGrants } from "../scripts/mintToken.ts"

const secret = "a secret of the thirty-two bytes"

export interface Served {
  readonly url: string
  readonly pid: number
  /** Where its objects' databases are. */
  readonly persistDir: string
  /** Asks its control; the answer's text. */
  readonly ask: (
    path: string,
    parameters?: Readonly<Record<string, string | number>>,
  ) => Promise<string>
  /** The milliseconds that it takes to answer. */
  readonly timed: (
    path: string,
    parameters?: Readonly<Record<string, string | number>>,
  ) => Promise<number>
  readonly stop: () => Promise<void>
}

export interface Product extends Served {
  readonly client: HeddleClient["Service"]
  readonly token: string
}

export interface Builds {
  readonly product: WorkerBuild
  readonly floor: WorkerBuild
}

export const buildBoth = async (): Promise<Builds> => ({
  product: await buildWorker(join(repositoryRoot, "bench", "product", "wrangler.toml")),
  floor: await buildWorker(join(repositoryRoot, "bench", "floor", "wrangler.toml")),
})

interface Engine {
  readonly flags?: ReadonlyArray<string>
  readonly inspectorPort?: number
}

const serve = async (
  build: WorkerBuild,
  { flags = [], inspectorPort }: Engine = {},
): Promise<Served> => {
  const { folder, remove } = await temporaryFolder("heddle-bench-")
  const persistDir = join(folder, "objects")
  const running = await startWorkerd({
    build,
    persistDir,
    secret,
    v8Flags: ["--expose-gc", ...flags],
    inspectorPort,
  })
  const ask: Served["ask"] = async (path, parameters = {}) => {
    const url = new URL(path, running.url)
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, `${value}`)
    const response = await fetch(url, { method: "POST" })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
    return text
  }
  return {
    url: running.url,
    pid: running.pid,
    persistDir,
    ask,
    timed: async (path, parameters) => {
      const start = performance.now()
      await ask(path, parameters)
      return performance.now() - start
    },
    stop: async () => {
      await running.kill()
      await remove()
    },
  }
}

export const serveFloor = (builds: Builds): Promise<Served> => serve(builds.floor)

export const serveProduct = async (builds: Builds, engine: Engine = {}): Promise<Product> => {
  const served = await serve(builds.product, engine)
  const token = await mintToken({
    grants: decodeGrants({ principal: "bench", owners: ["*"] }),
    secret,
    expiresInSeconds: 86_400,
  })
  const scope = Scope.makeUnsafe()
  const context = await Layer.buildWithScope(
    HeddleClient.layerHttp({ url: served.url, token }),
    scope,
  ).pipe(Effect.runPromise)
  return { ...served, token, client: Context.get(context, HeddleClient) }
}

/** In a process of its own, which is gone afterwards. */
export const withProduct = async <A>(
  builds: Builds,
  measure: (product: Product) => Promise<A>,
  engine: Engine = {},
): Promise<A> => {
  const product = await serveProduct(builds, engine)
  try {
    return await measure(product)
  } finally {
    await product.stop()
  }
}

let made = 0

/** A name for an owner that nothing was measured on yet. */
export const freshOwner = (profile = "timed"): OwnerId => {
  made += 1
  return OwnerId.make(`${profile}.${process.pid}-${made}`)
}
