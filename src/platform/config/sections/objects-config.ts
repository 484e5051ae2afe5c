import { z } from 'zod';
import { isEgressAllowEntry } from '../../egress/egress-policy.ts';
import { wholeNumber } from '../whole-number.ts';

/** An S3-compatible object store. Its secret appears in no log and no response. */
export interface ObjectsConfig {
  /** Scheme, host and port, such as `https://s3.example.com`. */
  origin: string;
  /** Host name or address alone, without brackets. */
  host: string;
  bucket: string;
  /** Folder of this installation inside the bucket: `''`, or one that ends with `/`. */
  folder: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
}

const FORM = 'https://key:secret@host/bucket?region=eu-central-1';
/** Bucket names of S3, and folders: no character that a URL or a signature would encode. */
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const FOLDER = /^[A-Za-z0-9_-]{1,64}$/;
const REGION = /^[a-z0-9-]{1,64}$/;

/** @returns the store, or what is wrong with the URL. The text never contains a part of the URL. */
function readObjectsUrl(value: string): ObjectsConfig | string {
  if (!URL.canParse(value))
    return `must be ${FORM}; write special characters of the key and the secret percent-encoded, "/" as %2F and "+" as %2B`;
  const url = new URL(value);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return `must be ${FORM}`;
  if (url.username === '' || url.password === '')
    return `must contain an access key and its secret, as in ${FORM}`;
  const login = decoded(url);
  if (!login) return 'must write a "%" in the key or the secret as %25';
  const [bucket = '', folder, ...more] = url.pathname.slice(1).split('/');
  if (!BUCKET.test(bucket)) return `must name a bucket after the host, as in ${FORM}`;
  if (more.length > 0 || (folder !== undefined && !FOLDER.test(folder)))
    return 'must name after the bucket at most one folder, of letters, digits, "_" and "-"';
  const region = url.searchParams.get('region') ?? 'us-east-1';
  const unknown = [...url.searchParams.keys()].some((name) => name !== 'region');
  if (unknown || !REGION.test(region) || url.hash !== '')
    return 'must have no parameter but region, as in ?region=eu-central-1';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (!isEgressAllowEntry(host)) return 'must have a host name without a dot at its end';
  return {
    origin: url.origin,
    host,
    bucket,
    folder: folder === undefined ? '' : `${folder}/`,
    region,
    ...login,
  };
}

function decoded(url: URL): Pick<ObjectsConfig, 'accessKeyId' | 'secretAccessKey'> | null {
  try {
    return {
      accessKeyId: decodeURIComponent(url.username),
      secretAccessKey: decodeURIComponent(url.password),
    };
  } catch {
    return null;
  }
}

export const objectsVariables = {
  OBJECTS_URL: z
    .string()
    .transform((value, context): ObjectsConfig => {
      const read = readObjectsUrl(value);
      if (typeof read !== 'string') return read;
      context.addIssue({ code: 'custom', message: read });
      return z.NEVER;
    })
    .optional(),
  OBJECTS_WRITE: z
    .enum(['true', 'false'], 'must be true or false')
    .transform((value) => value === 'true')
    .default(true),
  OBJECTS_MIN_BYTES: wholeNumber(0, 100 * 1024 * 1024).default(2_048),
  OBJECTS_KEEP_DAYS: wholeNumber(1, 3_650).default(30),
};
