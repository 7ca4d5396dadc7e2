import { createHash } from "node:crypto";
import { Header } from "tar";

/** A file in a tar. */
export interface Entry {
  path: string;
  body: Buffer;
  type?: "File" | "SymbolicLink";
  linkpath?: string;
}

/** Takes a tar apart, as far as the archives of a backup need it. */
export function entriesOf(tar: Buffer): Entry[] {
  const entries: Entry[] = [];
  for (let at = 0; tar[at] !== 0;) {
    const { path, size = 0 } = new Header(tar, at);
    const start = at + 512;
    entries.push({ path: path!, body: tar.subarray(start, start + size) });
    at = start + 512 * Math.ceil(size / 512);
  }
  return entries;
}

/** Puts a tar together. */
export function tarOf(entries: readonly Entry[]): Buffer {
  const blocks = entries.flatMap(({ body, type = "File", ...rest }) => {
    const header = new Header({
      ...rest,
      size: body.length,
      mode: 0o600,
      type,
    });
    header.encode();
    return [
      header.block!,
      body,
      Buffer.alloc((512 - (body.length % 512)) % 512),
    ];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

/** Changes the manifest, which is the last entry. */
export function withManifest(
  entries: readonly Entry[],
  change: (manifest: { version: number; members: Entry[] }) => void,
): Entry[] {
  const last = entries.at(-1)!;
  const manifest = JSON.parse(last.body.toString()) as never;
  change(manifest);
  const body = Buffer.from(JSON.stringify(manifest));
  return [...entries.slice(0, -1), { ...last, body }];
}

/** What a manifest says of an entry. */
export const memberOf = ({ path, body }: Entry) => ({
  path,
  size: body.length,
  modified: 0,
  sha256: createHash("sha256").update(body).digest("hex"),
});

/** Another byte in the middle of a buffer. */
export function flipped(bytes: Buffer, at = bytes.length >> 1): Buffer {
  const copy = Buffer.from(bytes);
  copy[at]! ^= 1;
  return copy;
}
