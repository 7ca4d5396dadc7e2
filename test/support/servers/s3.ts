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

/** An S3 server with an empty bucket. */
export interface S3Server {
  endpoint: string;
  bucket: string;
  /** Contains a folder for each bucket, with the bucket's objects by key. */
  root: string;
  /** The variables that make Foyer use this server. */
  variables: Record<string, string>;
  /** The equivalent options of the engine. The credentials are in `variables`. */
  options: BucketOptions;
  newBucket(): Promise<BucketOptions>;
  stop(): Promise<void>;
  /** Suspends it; connections stay open. Resolves once all of its threads have stopped. */
  pause(): Promise<void>;
  resume(): void;
  /** Restarts it with the same port and data. */
  restart(): Promise<void>;
}

const INSTALL =
  "versitygw is not installed: go install github.com/versity/versitygw/cmd/versitygw@v1.8.0, or set VERSITYGW to its path";

/** Finds versitygw. */
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

/** Whether all threads of a process have stopped. On a busy machine, some run on after the signal. */
function hasStopped(pid: number): boolean {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) return true;
  return readdirSync(tasks).every((task) =>
    /\) T /.test(readFileSync(join(tasks, task, "stat"), "latin1")),
  );
}

/**
 * Starts a server in a temporary folder. It ends with the test.
 * @throws {Error} with install instructions, if versitygw is missing.
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
  // The client reads its credentials from the environment, so all servers of a process share them.
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
        // A separate folder for metadata, because not every file system supports extended
        // attributes.
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
