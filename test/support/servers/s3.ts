import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { accessSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import type { Test } from "tap";
import type { BucketOptions } from "../../../db/choice.js";
import { until } from "../helper.js";
import { freePort } from "./port.js";

/** A server of S3 with an empty bucket. */
export interface S3Server {
  endpoint: string;
  bucket: string;
  /** Has a folder for each bucket, with its objects by their keys. */
  root: string;
  /** The variables that make Foyer use it. */
  variables: Record<string, string>;
  /** The same for the engine. The credentials are in `variables`. */
  options: BucketOptions;
  /** Makes one more bucket. */
  newBucket(): Promise<BucketOptions>;
  stop(): Promise<void>;
  /** Stops it from answering; connections stay open. Resolves once all its threads have stopped. */
  pause(): Promise<void>;
  resume(): void;
  /** Starts it again where it was. */
  restart(): Promise<void>;
}

const INSTALL =
  "versitygw is not installed: go install github.com/versity/versitygw/cmd/versitygw@v1.8.0, or set VERSITYGW to its path";

/** Where versitygw is. */
function program(): string {
  const { VERSITYGW, PATH = "" } = process.env;
  const places = VERSITYGW
    ? [VERSITYGW]
    : [...PATH.split(delimiter), join(homedir(), "go/bin")].map((folder) =>
        join(folder, "versitygw"),
      );
  const found = places.find((path) => {
    try {
      accessSync(path);
      return true;
    } catch {
      return false;
    }
  });
  if (found === undefined) throw new Error(INSTALL);
  return found;
}

/** Whether no thread of a process runs. On a busy machine, some still do after the signal. */
function hasStopped(pid: number): boolean {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) return true;
  return readdirSync(tasks).every((task) =>
    /\) T /.test(readFileSync(join(tasks, task, "stat"), "latin1")),
  );
}

/**
 * Starts a server in a temporary folder, which ends with the test.
 * @throws {Error} that says how to install it, if it is not.
 */
export async function startS3(t: Test): Promise<S3Server> {
  const path = program();
  const folder = await mkdtemp(join(tmpdir(), "foyer-s3-"));
  const root = join(folder, "objects");
  const sidecar = join(folder, "metadata");
  await mkdir(root);
  await mkdir(sidecar);
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  // The client reads the credentials from the environment, so all servers of a process have one.
  const access = "foyer-tests";
  const secret = process.env.AWS_SECRET_ACCESS_KEY ?? randomUUID();
  let child: ChildProcess;

  async function restart(): Promise<void> {
    child = spawn(
      path,
      [
        "--port",
        `127.0.0.1:${port}`,
        "--quiet",
        "--keep-alive",
        // Its own folder, as not every file system has extended attributes.
        "posix",
        "--sidecar",
        sidecar,
        root,
      ],
      {
        env: { ROOT_ACCESS_KEY: access, ROOT_SECRET_KEY: secret },
        stdio: ["ignore", "ignore", "inherit"],
      },
    );
    await until(async () => {
      if (child.exitCode !== null) throw new Error("versitygw ended");
      return fetch(endpoint).then(
        (answer) => answer.status > 0,
        () => false,
      );
    });
  }

  async function stop(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  async function newBucket(): Promise<BucketOptions> {
    const bucket = `foyer-${randomUUID()}`;
    const options = { endpoint, region: "us-east-1", forcePathStyle: true };
    const client = new S3Client({
      ...options,
      credentials: { accessKeyId: access, secretAccessKey: secret },
    });
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
    client.destroy();
    return { ...options, bucket, redirect: false };
  }

  t.teardown(async () => {
    await stop();
    await rm(folder, { recursive: true, force: true });
  });
  await restart();
  const options = await newBucket();
  const { bucket } = options;
  const variables = {
    S3_BUCKET: bucket,
    S3_ENDPOINT: endpoint,
    S3_FORCE_PATH_STYLE: "on",
    AWS_ACCESS_KEY_ID: access,
    AWS_SECRET_ACCESS_KEY: secret,
  };
  return {
    endpoint,
    bucket,
    root,
    variables,
    options,
    newBucket,
    async pause() {
      child.kill("SIGSTOP");
      await until(() => hasStopped(child.pid!));
    },
    resume: () => void child.kill("SIGCONT"),
    stop,
    restart,
  };
}
