/** The digest of a deployment's agents: their names and the shape of their schemas. */
import { Schema } from "effect"
import { sha256 } from "../platform/Digest.ts"
import type { Agent, Agents, JsonCodec } from "./Agent.ts"

/** The JSON schema of what crosses; a schema that has none is told apart by its kind alone. */
const shapeOf = (schema: JsonCodec<unknown> | undefined): unknown => {
  if (schema === undefined) return null
  try {
    return Schema.toJsonSchemaDocument(schema)
  } catch {
    return schema.ast._tag
  }
}

const shapesOf = (agent: Agent<unknown, unknown, unknown, unknown>): unknown => ({
  name: agent.name,
  input: shapeOf(agent.input),
  output: shapeOf(agent.output),
  error: shapeOf(agent.error),
  state: shapeOf(agent.state),
})

/** 64 hexadecimal digits; equal for equal agents, whatever their order. */
export const agentsDigest = (agents: Agents): string => {
  const shapes = [...agents.values()].map(({ agent }) => `${JSON.stringify(shapesOf(agent))}\n`)
  return sha256(...shapes.toSorted())
}
