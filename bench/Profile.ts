/**
 * Whose code computes: samples of the engine while something is done, by the folder of the product that they are in.
 *
 * - F1 A sample belongs to the innermost function on its stack that is in one of the folders. What is in none (`effect`, the
 *   collector, the platform's calls) is nobody's, though somebody brought it about.
 * - F2 Idle samples are left out: shares are of what was computed.
 */
import { createServer } from "node:net"

export interface ProfileNode {
  readonly id: number
  readonly callFrame: {
    readonly functionName: string
    readonly url: string
    readonly lineNumber: number
  }
  readonly children?: ReadonlyArray<number>
}

export interface Profile {
  readonly nodes: ReadonlyArray<ProfileNode>
  readonly samples: ReadonlyArray<number>
}

/** For each line of a bundle the file that it comes from, as the bundler notes before each file. */
export const filesOf = (module: string): ReadonlyArray<string> => {
  let file = ""
  return module.split("\n").map((line) => {
    file = /^\/\/ (?:\.\.\/)*([\w@./-]+\.(?:ts|js|mjs))$/.exec(line)?.[1] ?? file
    return file
  })
}

/** The share of each folder in what was computed. Pure. */
export const sharesOf = (
  { nodes, samples }: Profile,
  files: ReadonlyArray<string>,
  folders: ReadonlyArray<string>,
): Readonly<Record<string, number>> => {
  const parents = new Map(
    nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node] as const)),
  )
  const folderOf = (node: ProfileNode): string | undefined => {
    for (let at: ProfileNode | undefined = node; at !== undefined; at = parents.get(at.id)) {
      const { lineNumber, url } = at.callFrame
      const file = url === "" ? "" : (files[lineNumber] ?? "")
      const folder = folders.find((one) => file.startsWith(`${one}/`))
      if (folder !== undefined) return folder // F1
    }
    return undefined
  }
  const idle = new Set(
    nodes.filter(({ callFrame }) => callFrame.functionName === "(idle)").map(({ id }) => id),
  )
  const busy = samples.filter((id) => !idle.has(id)) // F2
  const ofNode = new Map(nodes.map((node) => [node.id, folderOf(node)]))
  return Object.fromEntries(
    folders.map((folder) => [
      folder,
      busy.filter((id) => ofNode.get(id) === folder).length / busy.length,
    ]),
  )
}

/** A port that nobody listens on now. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" ? address?.port : undefined
      server.close(() => resolve(port ?? 0))
    })
  })

const sampleMicros = 500

/** Samples what a Worker computes while something is done; its inspector listens on that port. */
export const profiled = async (port: number, work: () => Promise<unknown>): Promise<Profile> => {
  const told = await fetch(`http://127.0.0.1:${port}/json`)
  const targets = await told.json<ReadonlyArray<{ readonly webSocketDebuggerUrl: string }>>()
  const socket = new WebSocket(targets[0]?.webSocketDebuggerUrl ?? "")
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve)
    socket.addEventListener("error", reject)
  })
  try {
    const answers = new Map<number, (result: unknown) => void>()
    socket.addEventListener("message", ({ data }) => {
      const { id, result } = JSON.parse(String(data)) as { id?: number; result: unknown }
      if (id !== undefined) answers.get(id)?.(result)
    })
    let asked = 0
    const ask = (method: string, params: object = {}): Promise<unknown> =>
      new Promise((resolve) => {
        asked += 1
        answers.set(asked, resolve)
        socket.send(JSON.stringify({ id: asked, method, params }))
      })
    await ask("Profiler.enable")
    await ask("Profiler.setSamplingInterval", { interval: sampleMicros })
    await ask("Profiler.start")
    await work()
    return ((await ask("Profiler.stop")) as { readonly profile: Profile }).profile
  } finally {
    socket.close()
  }
}
