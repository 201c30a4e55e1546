/** The transport: effect/rpc over one native method, in memory and between objects. */
export * from "./InMemory.ts"
export * from "./PlatformFailure.ts"
export * from "./RpcCodec.ts"
export * from "./Wire.ts"
export * from "./WireClient.ts"
export * from "./WireServer.ts"
