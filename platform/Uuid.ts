/**
 * UUIDv7 (RFC 9562): 48 bits of milliseconds, then a counter that keeps ids of one source ordered,
 * then random bits.
 */

/** The digits of each byte. */
const digits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))

const hexOf = (bytes: Uint8Array): string => {
  let hex = ""
  for (const byte of bytes) hex += digits[byte]
  return hex
}

export interface UuidSource {
  readonly now: () => number
  readonly randomBytes: (length: number) => Uint8Array
}

/** 128 bits of the source in hexadecimal digits: a secret where its bytes are. */
export const secretOf = ({ randomBytes }: Pick<UuidSource, "randomBytes">): string =>
  hexOf(randomBytes(16))

/** A generator whose ids are strictly increasing as text, also when the clock stands still or goes back. */
export const makeUuidGenerator = (source: UuidSource): (() => string) => {
  let lastMillis = 0
  let counter = 0
  return () => {
    const now = source.now()
    if (now > lastMillis) {
      lastMillis = now
      counter = 0
    } else if (++counter > 0xfff) {
      // The 12 bits of this millisecond are used up: borrow the next one.
      lastMillis += 1
      counter = 0
    }
    const random = source.randomBytes(8)
    random[0] = ((random[0] ?? 0) & 0x3f) | 0x80
    const hex = hexOf(random)
    const time = lastMillis.toString(16).padStart(12, "0")
    const sequence = counter.toString(16).padStart(3, "0")
    return `${time.slice(0, 8)}-${time.slice(8)}-7${sequence}-${hex.slice(0, 4)}-${hex.slice(4)}`
  }
}
