import { createReadStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { LineSource } from "../db/contract/selections.js";
import { isLaidInLines, isOfRows, toLines } from "../db/copies/world-lines.js";
import { unnamedFile } from "../db/local/work-folder.js";
import type { WorldCopy } from "../schemas/documents/world-document.js";
import { Failure } from "../schemas/plain/failure.js";
import { context } from "./output.js";

/** An open tar file that contains a world and its files. */
interface Archive {
  archive: number;
}

/**
 * Runs a function with the document in a file.
 * @param file the path of the file; "-" means stdin.
 * @throws {Failure} if the file cannot be read, or does not contain a document.
 */
export async function withDocument<T>(
  file: string,
  run: (document: WorldCopy | LineSource | Archive) => Promise<T>,
): Promise<T> {
  const name = file === "-" ? "stdin" : file;
  const opened = await openDocument(file).catch((error: unknown) => {
    throw unreadable(name, error);
  });
  try {
    return await run(await documentIn(opened, name));
  } finally {
    await opened.close();
  }
}

/** Opens a document so that it can be read several times. */
async function openDocument(file: string): Promise<FileHandle> {
  if (file === "-") return unnamedFile(context().stdin);
  const opened = await open(file);
  // A pipe can be read only once.
  if ((await opened.stat()).isFile()) return opened;
  return unnamedFile(createReadStream("", { fd: opened }));
}

/** Returns the document in a file: an archive, lines, or an export from an older version of Foyer. */
async function documentIn(
  file: FileHandle,
  name: string,
): Promise<WorldCopy | LineSource | Archive> {
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(1024), 0, 1024, 0);
    const beginning = buffer.toString("latin1", 0, bytesRead);
    if (beginning.startsWith("ustar", 257)) return { archive: file.fd };
    if (isLaidInLines(beginning)) return { file: file.fd };
    return await readWhole(await bytesOf(file), name);
  } catch (error) {
    throw unreadable(name, error);
  }
}

async function bytesOf(file: FileHandle): Promise<Buffer> {
  const { size } = await file.stat();
  const bytes = Buffer.alloc(size);
  const { bytesRead } = await file.read(bytes, 0, size, 0);
  return bytes.subarray(0, bytesRead);
}

const unreadable = (name: string, error: unknown): unknown =>
  error instanceof Error && "syscall" in error
    ? new Failure(`${name} cannot be read: ${error.message}`, { cause: error })
    : error;

/** Reads an export from an older version of Foyer, or an export that another program has reformatted. */
async function readWhole(bytes: Buffer, name: string): Promise<WorldCopy | LineSource> {
  let text: string;
  let document: unknown;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    document = JSON.parse(text);
  } catch {
    throw new Failure(`${name} is not JSON.`);
  }
  const { findLosses } = await import("../schemas/validate.js");
  const { readWorldDocument } = await import("../schemas/documents/world-document.js");
  const { InvalidData } = await import("../schemas/validate.js");
  try {
    const losses = findLosses(text);
    if (losses) throw losses;
    return isOfRows(document) ? { lines: toLines(document) } : readWorldDocument(document);
  } catch (error) {
    if (!(error instanceof InvalidData)) throw error;
    const faults = Object.entries(error.faults).map(
      ([field, messages]) => `${field}: ${messages.join(" ")}`,
    );
    throw new Failure(`${name} is not a world document. ${faults.join(" ")}`);
  }
}
