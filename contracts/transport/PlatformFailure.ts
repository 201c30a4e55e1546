/** A rejected native call as the error that every call can fail with. */
import { Unavailable } from "../Errors.ts"
import { platformFault } from "./PlatformFault.ts"

/** Reads a rejection of a native call. Pure, total. */
export const classify = (error: unknown): Unavailable => new Unavailable(platformFault(error))
