/** What a bundler makes of code that imports ours. */
import { build, type Rollup } from "vite"
import { repositoryRoot } from "../../scripts/workerBuild.ts"

/** The chunks of it, minified. */
export const bundled = async (code: string): Promise<ReadonlyArray<Rollup.OutputChunk>> => {
  const entry = "\0entry"
  const built = await build({
    configFile: false,
    logLevel: "silent",
    root: repositoryRoot,
    plugins: [
      {
        name: "entry",
        resolveId: (id) => (id === "entry" ? entry : undefined),
        load: (id) => (id === entry ? code : undefined),
      },
    ],
    build: {
      write: false,
      minify: true,
      rollupOptions: { input: "entry", preserveEntrySignatures: "strict" },
    },
  })
  return ([built].flat() as ReadonlyArray<Rollup.RollupOutput>)
    .flatMap(({ output }) => output)
    .filter((one) => one.type === "chunk")
}
