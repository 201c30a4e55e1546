/** The digest of a deployment's agents: their names, the shape of their schemas, and their tools'. */
import { Schema } from "effect"
import { sha256 } from "../platform/Digest.ts"
import type { AgentLive, Agents, JsonCodec } from "./Agent.ts"

/** The JSON schema of what crosses; a schema that has none is told apart by its kind alone. */
const shapeOf = (schema: JsonCodec<unknown> | undefined): unknown => {
  if (schema === undefined) return null
  try {
    return Schema.toJsonSchemaDocument(schema)
  } catch {
    return schema.ast._tag
  }
}

const shapesOf = ({ agent, tools }: AgentLive<never>): unknown => ({
  name: agent.name,
  input: shapeOf(agent.input),
  output: shapeOf(agent.output),
  error: shapeOf(agent.error),
  state: shapeOf(agent.state),
  tools: [...tools.values()]
    .map(({ error, name, result }) => ({ name, result: shapeOf(result), error: shapeOf(error) }))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1)),
})

/** 64 hexadecimal digits; equal for equal agents, whatever their order. */
export const agentsDigest = (agents: Agents): string => {
  const shapes = [...agents.values()].map((live) => `${JSON.stringify(shapesOf(live))}\n`)
  return sha256(...shapes.toSorted())
}
