/** The transport: effect/rpc over one native method, in memory and between objects. */
export * from "./InMemory.ts"
export * from "./PlatformFailure.ts"
export * from "./Reconnect.ts"
export * from "./RpcCodec.ts"
export * from "./StubTarget.ts"
export * from "./Wire.ts"
export * from "./WireClient.ts"
export * from "./WireServer.ts"
