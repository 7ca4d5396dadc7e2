import {
  CreateBucketCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
} from "@aws-sdk/client-s3";

/** The buckets of a test's S3 server, as seen by its operator. */
export class Buckets {
  readonly #client: S3Client;

  /** @param variables include the credentials. */
  constructor(endpoint: string, variables: NodeJS.ProcessEnv) {
    const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = variables;
    this.#client = new S3Client({
      endpoint,
      credentials: { accessKeyId: AWS_ACCESS_KEY_ID!, secretAccessKey: AWS_SECRET_ACCESS_KEY! },
      region: "us-east-1",
      forcePathStyle: true,
    });
  }

  /** Creates a bucket unless it exists. */
  async create(Bucket: string): Promise<void> {
    try {
      await this.#client.send(new CreateBucketCommand({ Bucket }));
    } catch (error) {
      const { name } = error as Error;
      if (!/^BucketAlready(OwnedByYou|Exists)$/.test(name)) throw error;
    }
  }

  /** Returns the keys of all files in a bucket. Foyer's notes, which are in the same bucket, are omitted. */
  keys(bucket: string): Promise<string[]> {
    return this.#keys(bucket, "pub/");
  }

  /** Returns the keys of the notes in a bucket, and of multipart uploads that are not yet objects. */
  async unfinished(Bucket: string): Promise<string[]> {
    const command = new ListMultipartUploadsCommand({ Bucket });
    const [work, { Uploads = [] }] = await Promise.all([
      this.#keys(Bucket, "work/"),
      this.#client.send(command),
    ]);
    return [...work.filter((key) => !key.endsWith("/alive")), ...Uploads.map(({ Key }) => Key!)];
  }

  async #keys(Bucket: string, Prefix: string): Promise<string[]> {
    const keys: string[] = [];
    let token: string | undefined;
    do {
      const page = await this.#client.send(
        new ListObjectsV2Command({
          Bucket,
          Prefix,
          ...(token !== undefined && { ContinuationToken: token }),
        }),
      );
      keys.push(...(page.Contents ?? []).map(({ Key }) => Key!));
      token = page.NextContinuationToken;
    } while (token !== undefined);
    return keys;
  }
}
