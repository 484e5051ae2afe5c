import { createRequire } from 'node:module';
import type { EventEmitter } from 'node:events';
import type { Values } from './recorded-client.ts';

/** Major versions of npm's `nylas` that the suites run, each as it is published. */
export const NODE_VERSIONS = [4, 5, 6] as const;
export type NodeVersion = (typeof NODE_VERSIONS)[number];

const PACKAGES: Record<NodeVersion, string> = { 4: 'nylas-4', 5: 'nylas-5', 6: 'nylas' };
const require = createRequire(import.meta.url);

// The clients are CommonJS with static state and outdated types. These interfaces describe only
// what the tests use, of all versions together.
export interface NodeModel {
  id: string;
  jobStatusId?: string;
  version: number;
  subject?: string;
  title?: string;
  name?: string;
  displayName?: string;
  description?: string;
  body?: string;
  unread?: boolean;
  starred?: boolean;
  state?: string;
  status?: string;
  givenName?: string;
  notes?: string;
  pictureUrl?: string;
  threadId?: string;
  snippet?: string;
  size?: number;
  metadata?: unknown;
  billingState?: string;
  emailAddress?: string;
  triggers?: string[];
  messageIds?: string[];
  when?: Record<string, unknown>;
  start?: unknown;
  end?: unknown;
  iCalUID?: string;
  participants?: unknown;
  headers?: object;
  files?: NodeModel[];
  folder?: NodeModel;
  folders?: NodeModel[];
  labels?: NodeModel[];
  messages?: NodeModel[];
  groups?: NodeModel[];
  isSuccessful(): boolean;
  save(params?: object, callback?: Callback<NodeModel>): Promise<NodeModel>;
  send(...options: unknown[]): Promise<NodeModel>;
  upload(callback?: Callback<NodeModel>): Promise<NodeModel>;
  download(callback?: Callback<unknown>): Promise<{ body: Buffer }>;
  getRaw(): Promise<string>;
  getPicture(): Promise<unknown>;
  getJobStatus(): Promise<NodeModel>;
  rsvp(status: string, comment: string): Promise<NodeModel>;
  generateICS(options?: object): Promise<string>;
  upgrade(): Promise<{ success: boolean }>;
  downgrade(): Promise<{ success: boolean }>;
  revokeAll(keepAccessToken?: string): Promise<{ success: boolean }>;
  ipAddresses(): Promise<object>;
  tokenInfo(accessToken: string): Promise<{ state: string }>;
}

type Callback<T> = (error: Error | null, value?: T) => void;

export interface NodeCollection {
  connection: NodeConnection;
  modelClass: new (client: NodeConnection, properties: object) => NodeModel;
  list(params?: object, callback?: Callback<NodeModel[]>): Promise<NodeModel[]>;
  first(params?: object, callback?: Callback<NodeModel>): Promise<NodeModel>;
  count(params?: object, callback?: Callback<number>): Promise<number>;
  find(id: string, ...options: unknown[]): Promise<NodeModel>;
  search(query: string, params?: object): Promise<NodeModel[]>;
  forEach(params: object, each: (item: NodeModel) => void, complete: Callback<void>): unknown;
  build(properties: object): NodeModel;
  delete(item: NodeModel | string, params?: object): Promise<unknown>;
  groups(): Promise<NodeModel[]>;
  findMultiple(ids: string[], options?: object): Promise<NodeModel[]>;
  findRaw(id: string): Promise<string>;
  freeBusy(query: object): Promise<Record<string, unknown>[]>;
  availability(query: object): Promise<Record<string, unknown>>;
  consecutiveAvailability(query: object): Promise<unknown>;
}

interface DeltaPage {
  cursorStart: string;
  cursorEnd: string;
  deltas: object[];
}
type DeltaStream = EventEmitter & { close(): void };

type CollectionName =
  | 'threads'
  | 'contacts'
  | 'messages'
  | 'drafts'
  | 'files'
  | 'calendars'
  | 'events'
  | 'labels'
  | 'folders'
  | 'jobStatuses'
  | 'resources'
  | 'component';

export type NodeConnection = Record<CollectionName, NodeCollection> & {
  account: { get(): Promise<NodeModel & { organizationUnit: string }> };
  deltas: {
    latestCursor(callback?: Callback<string>): Promise<string>;
    since(cursor: string, options?: object): Promise<DeltaPage>;
    longPoll(cursor: string, timeout: number, options?: object): Promise<DeltaStream>;
    startStream(cursor: string, params?: object): Promise<DeltaStream> | DeltaStream;
  };
  outbox: {
    send(draft: NodeModel, options: object): Promise<NodeModel>;
    update(id: string, options: object): Promise<NodeModel>;
    delete(id: string): Promise<void>;
    sendGridVerificationStatus(): Promise<{ domainVerified: boolean; senderVerified: boolean }>;
    deleteSendGridSubUser(email: string): Promise<void>;
  };
  neural: {
    sentimentAnalysisMessage(ids: string[]): Promise<{ sentiment: string }[]>;
    sentimentAnalysisText(text: string): Promise<{ sentiment: string }>;
    extractSignature(ids: string[], ...options: unknown[]): Promise<SignedMessage[]>;
    ocrRequest(fileId: string, pages?: number[]): Promise<{ ocr: string[] }>;
    categorize(ids: string[]): Promise<CategorizedMessage[]>;
    cleanConversation(ids: string[], options?: object): Promise<CleanMessage[]>;
  };
};

interface SignedMessage {
  signature: string;
  contacts?: { toContactObject(client: NodeConnection): NodeModel };
}
interface CategorizedMessage {
  categorizer: { category: string };
  reCategorize(category: string): Promise<CategorizedMessage>;
}
interface CleanMessage {
  conversation: string;
  extractImages(): Promise<NodeModel[]>;
}

/** The static class that a version exports. */
export interface NodeSdk {
  config(options: object): void;
  clientCredentials(): boolean;
  with(accessToken: string): NodeConnection;
  application(options?: object): Promise<Record<string, unknown>>;
  exchangeCodeForToken(code: string, callback?: Callback<unknown>): Promise<unknown>;
  urlForAuthentication(options: object): string;
  revoke(accessToken: string): Promise<unknown>;
  connect: {
    authorize(options: object): Promise<{ code: string }>;
    token(code: string): Promise<Record<string, string>>;
  };
  webhooks: NodeCollection;
  accounts: NodeCollection;
}

/** Loads one version, as an application of its users does. */
export function loadNodeSdk(version: NodeVersion): NodeSdk {
  const loaded = require(PACKAGES[version]) as NodeSdk & { default?: NodeSdk };
  return loaded.default ?? loaded;
}

/** @returns version of the package, such as 6.11.1 */
export function nodeSdkVersion(version: NodeVersion): string {
  return (require(`${PACKAGES[version]}/package.json`) as { version: string }).version;
}

/** What a call can use. */
export interface NodeContext {
  version: NodeVersion;
  sdk: NodeSdk;
  /** The account with folders. */
  client: NodeConnection;
  /** The account with labels. */
  labels: NodeConnection;
  /** Names of `ClientWorld`. */
  values: Values;
  /** Value of `values`; throws if there is none. */
  value(name: string): string;
  /** Builds a model that is not stored yet, the way the version does. */
  make(collection: NodeCollection, properties: object): NodeModel;
}

/** A call, and what its user expects of it. */
export interface NodeCall {
  /** Row of the table in docs/compatibility.md. */
  resource: string;
  /** The call as a user of the client writes it. */
  call: string;
  /** Versions that have the call. Default: all. */
  versions?: readonly NodeVersion[];
  run(context: NodeContext): Promise<void>;
  /** Why Carillon refuses the call. Then `run` expects the refusal. */
  refused?: string;
}
