import { defineEntity, p } from '@mikro-orm/core';
import { ownedByAccount } from '../../platform/database/owner-keys.ts';

/** Progress of an audit that has begun. Times are ISO 8601. */
export interface AuditRound {
  /** `full`: every message; `recent`: messages of the last days, and folders with a new count. */
  kind: 'full' | 'recent';
  beganAt: string;
  /** Earlier messages are not compared; `null` compares all. */
  since: string | null;
  /** The same for folders of `whole`. */
  wholeSince: string | null;
  /** Provider ids of folders to compare completely, because their count has changed. */
  whole: readonly string[];
  /** Provider ids of the folders that are left; the first one is being listed. */
  folders: readonly string[];
  /**
   * Provider ids of folders that the mirror has and the provider did not list when a full audit
   * began.
   */
  surplusFolders: readonly string[];
  /** Where the listing of the first folder continues; `null` for its beginning. */
  cursor: string | null;
  /** When the listing of the first folder began; `null` before it. */
  folderBeganAt: string | null;
  /**
   * True if the listed ids are noted for the days of messages; absent in an audit that a release
   * without these has begun.
   */
  notesDays?: boolean;
  /** Number of ids listed so far. */
  checked: number;
  /** Number of proven differences so far, and how many of them were repaired. */
  found: number;
  repaired: number;
  /** Of the differences: messages that the mirror lacked. */
  missing: number;
  /** Messages that only the mirror had. */
  surplus: number;
  /** Messages that were in other folders in the mirror. */
  misplaced: number;
  /** Number of folders that could not be listed. */
  skipped: number;
  /** Messages at the provider minus messages in the mirror when the round began, by folder. */
  counted: Readonly<Record<string, number>>;
}

/** Numbers of objects that differed between a collection and the mirror. */
export interface ObjectDifferences {
  /** Objects that the mirror lacked. */
  missing: number;
  /** Objects that only the mirror had. */
  surplus: number;
  /** Objects with another content. */
  changed: number;
}

/** Number of objects that an audit compared and repaired. */
export interface CollectionCounts extends ObjectDifferences {
  checked: number;
  /** Sum of the differences. */
  repaired: number;
  /** Calendars or address books that could not be compared. */
  skipped: number;
}

/** Progress of an audit of collections: the calendars and the address book. */
export interface CollectionRound {
  /** Ids of the calendars that are left, and `contacts`; the first one is being compared. */
  collections: readonly string[];
  /** Where the listing of the first collection continues; `null` for its beginning. */
  cursor: string | null;
  /** When that listing began, ISO 8601; `null` before it. */
  listedFrom: string | null;
  /** Number of its pages so far. */
  pages: number;
  /** Provider ids in the mirror that it does not contain. */
  absent: readonly string[];
  /** True if the collection is listed a second time, to confirm `absent`. */
  confirming: boolean;
  /** True if a collection could not be compared, or has too many absent objects for one audit. */
  incomplete: boolean;
  events: CollectionCounts;
  contacts: CollectionCounts;
}

const MirrorAuditSchema = defineEntity({
  name: 'MirrorAudit',
  tableName: 'mirror_audit',
  properties: {
    account: () => ownedByAccount().primary(),
    /** When the next audit of recent messages is due. */
    recentAt: p.datetime().columnType('timestamptz'),
    /** When the next audit of the whole mailbox is due. */
    fullAt: p.datetime().columnType('timestamptz'),
    /** No audit before this time, because the provider refused or limited the last one. */
    notBefore: p.datetime().columnType('timestamptz').nullable(),
    /** The audit that has begun; `null` if there is none. */
    round: p.json<AuditRound>().nullable(),
    /** `counted` of the last complete round. */
    counted: p.json<Readonly<Record<string, number>>>(),
    /**
     * When the last audit of the whole mailbox was complete; `null` before the first one. Without a
     * mailbox: the last audit of calendars and contacts.
     */
    checkedAt: p.datetime().columnType('timestamptz').nullable(),
    /** Messages that it compared. */
    messagesChecked: p.integer().default(0),
    /** Differences found and repaired by it, and by the audits of recent messages since then. */
    differencesFound: p.integer().default(0),
    repaired: p.integer().default(0),
    /** Of the differences found: messages that the mirror lacked. */
    missing: p.integer().default(0),
    /** Messages that only the mirror had. */
    surplus: p.integer().default(0),
    /** Messages that were in other folders in the mirror. */
    misplaced: p.integer().default(0),
    /** Folders that the last audit could not list. */
    foldersSkipped: p.integer().default(0),
    /** Differences that the last audit could not repair. */
    unrepaired: p.integer().default(0),
    /** Number of audits in a row that could not repair every difference. */
    failed: p.integer().default(0),
    /** When the next audit of calendars and contacts begins or continues. */
    collectionsAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
    /** The audit of calendars and contacts that has begun; `null` if there is none. */
    collections: p.json<CollectionRound>().nullable(),
    /** True if a list lacked objects that the mirror has, and no audit has begun since. */
    collectionsDoubted: p.boolean().default(false),
    /** Results of its last complete audit. */
    eventsChecked: p.integer().default(0),
    eventsRepaired: p.integer().default(0),
    eventsMissing: p.integer().default(0),
    eventsSurplus: p.integer().default(0),
    eventsChanged: p.integer().default(0),
    eventsSkipped: p.integer().default(0),
    contactsChecked: p.integer().default(0),
    contactsRepaired: p.integer().default(0),
    contactsMissing: p.integer().default(0),
    contactsSurplus: p.integer().default(0),
    contactsChanged: p.integer().default(0),
    contactsSkipped: p.integer().default(0),
  },
});

/** The audits of an account's mirror: when they are due, their progress and their results. */
export class MirrorAudit extends MirrorAuditSchema.class {}
MirrorAuditSchema.setClass(MirrorAudit);
