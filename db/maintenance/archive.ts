import { constants } from "node:buffer";
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, open, stat, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { text } from "node:stream/consumers";
import { Type, type Static, type TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { Header, Parser, Pax, type ReadEntry } from "tar";
import { Failure } from "../../failure.js";
import type { Report } from "./progress.js";

// A backup is a tar archive with the files, the database, and at the end a manifest
// with their checksums. Any tar can unpack it. An incomplete one lacks the manifest.

const ARCHIVE_FORMAT = "foyer.backup";
const ARCHIVE_VERSION = 1;
const MANIFEST = "manifest.json";

/** The paths that an archive may have. No other is ever written to the disk. */
export const DATABASE = "foyer.db";
export const MEDIA = "media/";
const PATH = /^(foyer\.db|media(\/[\w-][\w.-]*)+)$/;

/** The last moment that a `Date` can hold, in milliseconds since 1970 (ECMA-262, 21.4.1.1). */
const LATEST_TIME = 8.64e15;

const Member = Type.Object({
  path: Type.RegExp(PATH),
  size: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  /** In milliseconds since 1970. It is part of the `ETag` of a file. */
  modified: Type.Integer({ minimum: 0, maximum: LATEST_TIME }),
  sha256: Type.RegExp(/^[0-9a-f]{64}$/),
});
export type Member = Static<typeof Member>;

const ManifestHead = Type.Object({
  format: Type.Literal(ARCHIVE_FORMAT),
  version: Type.Integer({ minimum: 1 }),
});

const Manifest = Type.Object({
  ...ManifestHead.properties,
  /** When the backup was made, as `Date.prototype.toISOString` writes it. */
  created: Type.RegExp(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  members: Type.Array(Member),
});

/** The archive is not valid, or cannot be made. The message is one line for the operator. */
export class ArchiveError extends Failure {}

/**
 * Writes an archive and syncs it to the disk.
 * @param target a file that does not exist yet.
 * @param sources the files to archive; each is closed after it is read.
 * @param report gets the number of bytes just read.
 */
export async function writeArchive(
  target: string,
  sources: AsyncIterable<{ path: string; file: FileHandle }>,
  report: (bytes: number) => void,
): Promise<Member[]> {
  const members: Member[] = [];

  async function* archive(): AsyncGenerator<Buffer> {
    for await (const { path, file } of sources) {
      try {
        const { size, mtime } = await file.stat();
        const member = { path, size, modified: modifiedOf(mtime), sha256: "" };
        yield* headerOf(member);
        const sha256 = createHash("sha256");
        let left = size;
        for await (const chunk of contentOf(file, size)) {
          sha256.update(chunk);
          left -= chunk.length;
          report(chunk.length);
          yield chunk;
        }
        if (left > 0)
          throw new ArchiveError(`${path} shrank while it was read.`);
        yield paddingOf(size);
        members.push({ ...member, sha256: sha256.digest("hex") });
      } finally {
        await file.close();
      }
    }
    const created = new Date();
    const manifest = Buffer.from(
      JSON.stringify({
        format: ARCHIVE_FORMAT,
        version: ARCHIVE_VERSION,
        created,
        members,
      }),
    );
    const { length } = manifest;
    const modified = created.getTime();
    yield* headerOf({ path: MANIFEST, size: length, modified });
    yield manifest;
    // Two empty blocks are the end of a tar.
    yield Buffer.concat([paddingOf(length), Buffer.alloc(1024)]);
  }

  await pipeline(
    archive,
    createWriteStream(target, { flags: "wx", mode: 0o600, flush: true }),
  );
  return members;
}

/** The time of a file in milliseconds; 0 if it is before 1970 or beyond what a `Date` can hold. */
function modifiedOf(mtime: Date): number {
  const time = mtime.getTime();
  return time > 0 ? time : 0;
}

function* headerOf(member: Omit<Member, "sha256">): Generator<Buffer> {
  const { path, size } = member;
  const mtime = new Date(member.modified);
  const header = new Header({ path, size, mtime, mode: 0o600, type: "File" });
  if (header.encode()) yield new Pax({ path, size, mtime }).encode();
  yield header.block!;
}

const paddingOf = (size: number) => Buffer.alloc((512 - (size % 512)) % 512);

const contentOf = (file: FileHandle, size: number) =>
  (size === 0
    ? Readable.from([])
    : file.createReadStream({
        start: 0,
        end: size - 1,
        autoClose: false,
      })) as AsyncIterable<Buffer>;

/**
 * Unpacks an archive into a folder, and checks that it has exactly the files that
 * its manifest names, with their checksums.
 * @throws {ArchiveError} if it does not. The folder may then have a part of it.
 */
export async function readArchive(
  archive: string,
  folder: string,
  report: Report,
): Promise<Member[]> {
  const found = new Map<string, Pick<Member, "size" | "sha256">>();
  const stats = await stat(archive);
  if (stats.isDirectory()) throw new ArchiveError(`${archive} is a folder.`);
  const of = stats.size;
  let manifest: string | undefined;
  let done = 0;

  async function take(entry: ReadEntry): Promise<void> {
    const { path } = entry;
    if (manifest !== undefined || found.has(path) || entry.type !== "File") {
      throw new ArchiveError(`it has an unexpected entry: ${path}`);
    }
    if (path === MANIFEST) {
      manifest = await readManifestText(entry);
    } else if (PATH.test(path)) {
      const file = await extract(entry, join(folder, path), (bytes) =>
        report("Reading the archive", (done += bytes), of),
      );
      found.set(path, file);
    } else throw new ArchiveError(`it has an unexpected entry: ${path}`);
  }

  try {
    await parse(archive, take);
    const { members } = readManifest(manifest);
    for (const { path, size, sha256 } of members) {
      const file = found.get(path);
      if (!file) throw new ArchiveError(`it lacks ${path}`);
      if (file.size !== size || file.sha256 !== sha256) {
        throw new ArchiveError(`${path} has the wrong checksum`);
      }
      found.delete(path);
    }
    const [extra] = found.keys();
    if (extra !== undefined) {
      throw new ArchiveError(`its manifest does not name ${extra}`);
    }
    return members;
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    throw new ArchiveError(
      `${archive} is not a complete backup: ${error.message}`,
    );
  }
}

function readManifestText(entry: ReadEntry): Promise<string> {
  if (entry.size > constants.MAX_STRING_LENGTH) {
    throw new ArchiveError("its manifest is too large");
  }
  return text(entry as AsyncIterable<Buffer>);
}

function readManifest(json: string | undefined): Static<typeof Manifest> {
  if (json === undefined) throw new ArchiveError("it lacks its manifest");
  let manifest: unknown;
  try {
    manifest = JSON.parse(json);
  } catch {
    throw new ArchiveError("its manifest is not JSON");
  }
  // The version comes first, because a newer manifest may have other fields.
  refuseFault(ManifestHead, manifest);
  if ((manifest as Static<typeof ManifestHead>).version > ARCHIVE_VERSION) {
    throw new ArchiveError("it was made by a newer Foyer");
  }
  refuseFault(Manifest, manifest);
  const whole = manifest as Static<typeof Manifest>;
  if (Number.isNaN(Date.parse(whole.created))) {
    throw new ArchiveError("its manifest is wrong at /created: not a date");
  }
  const paths = new Set<string>();
  for (const { path } of whole.members) {
    if (paths.has(path)) {
      throw new ArchiveError(`its manifest names ${path} twice`);
    }
    paths.add(path);
  }
  if (!paths.has(DATABASE)) throw new ArchiveError("it has no database");
  return whole;
}

function refuseFault(schema: TSchema, manifest: unknown): void {
  const fault = Value.Errors(schema, manifest).First();
  if (!fault) return;
  const at = fault.path && ` at ${fault.path}`;
  throw new ArchiveError(`its manifest is wrong${at}: ${fault.message}`);
}

/** Calls `take` for each entry of a tar, one after the other. */
async function parse(
  archive: string,
  take: (entry: ReadEntry) => Promise<void>,
): Promise<void> {
  const source = createReadStream(archive);
  let current: ReadEntry | undefined;
  let failed = false;
  let taken = Promise.resolve();
  try {
    await new Promise<void>((resolve, reject) => {
      const parser = new Parser({
        strict: true,
        onReadEntry: (entry) => {
          // An entry waits until it is read, and the parser waits with the next one.
          current = entry;
          taken = taken.then(() => (failed ? undefined : take(entry)));
          taken.catch(reject);
        },
      });
      parser.on("error", ({ message }: Error) =>
        reject(new ArchiveError(message.replace(/^TAR_\w+: /, ""))),
      );
      parser.on("end", resolve);
      source.on("error", reject);
      source.pipe(parser);
    });
    await taken;
  } catch (error) {
    // The end of the current entry will not come, so its reader must stop.
    failed = true;
    current?.destroy(error);
    await taken.catch(() => {});
    throw error;
  } finally {
    source.destroy();
  }
}

async function extract(
  entry: ReadEntry,
  path: string,
  report: (bytes: number) => void,
): Promise<Pick<Member, "size" | "sha256">> {
  const file = await createFile(path).catch((error: NodeJS.ErrnoException) => {
    if (!UNPACKABLE.has(error.code ?? "")) throw error;
    throw new ArchiveError(`${entry.path} cannot be unpacked: ${error.code}`);
  });
  const sha256 = createHash("sha256");
  let size = 0;
  try {
    for await (const chunk of entry as AsyncIterable<Buffer>) {
      sha256.update(chunk);
      size += chunk.length;
      report(chunk.length);
      await file.writeFile(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { size, sha256: sha256.digest("hex") };
}

/** The errors for names that are too long, or that are a file and a folder at once. */
const UNPACKABLE = new Set(["EEXIST", "EISDIR", "ENAMETOOLONG", "ENOTDIR"]);

async function createFile(path: string): Promise<FileHandle> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  return open(path, "wx", 0o600);
}
