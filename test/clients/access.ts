/** What a program needs to use the server. */
export interface Access {
  baseUrl: string;
  /** Of an administrator of the world `sample`. */
  token: string;
  /** The token of a user who may upload. */
  uploader: string;
  /** A file to upload: `dot.svg`. */
  file: string;
}
