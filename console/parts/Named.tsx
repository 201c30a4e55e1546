/** A name that a person or an agent gave: of any characters, and none of them turns what stands beside it around. */
import { straight } from "../lib/Format.ts"

export const Named = ({ name }: { readonly name: string }) => <bdi>{straight(name)}</bdi>
