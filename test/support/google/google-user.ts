import type { Identity } from './oauth/google-oauth.ts';
import { Mailbox } from './gmail/mailbox.ts';
import { Contacts } from './people/contacts.ts';
import type { GoogleWorld } from './world.ts';

/** An address that a person may send from. */
export interface SendAs {
  sendAsEmail: string;
  displayName: string;
  isPrimary?: boolean;
  isDefault?: boolean;
  treatAsAlias?: boolean;
  verificationStatus?: 'accepted' | 'pending';
  signature?: string;
  replyToAddress?: string;
}

/** A watch of a mailbox, which publishes to a topic. */
export interface MailWatch {
  topicName: string;
  labelIds: string[];
  isInclude: boolean;
  expiresAt: number;
}

let subjects = 0n;

/** A person with an account at Google. */
export class GoogleUser implements Identity {
  readonly email: string;
  readonly name: string;
  readonly sub: string;
  readonly mailbox: Mailbox;
  readonly sendAs: SendAs[];
  readonly contacts: Contacts;
  /** The mailbox's watch. Null for none. */
  watch: MailWatch | null = null;

  constructor(world: GoogleWorld, email: string, name: string) {
    this.email = email.toLowerCase();
    this.name = name;
    subjects += 1n;
    this.sub = String(100_000_000_000_000_000_000n + subjects * 7n);
    const own = { sendAsEmail: this.email, displayName: name, isPrimary: true, isDefault: true };
    this.sendAs = [{ ...own, signature: '', replyToAddress: '' }];
    this.contacts = new Contacts(() => world.now());
    this.mailbox = new Mailbox(
      () => world.now(),
      (historyId, labelIds) => world.announceMail(this, historyId, labelIds),
      world.habits,
    );
  }

  /** Adds an address that the person may send from and receives at. */
  addAlias(sendAsEmail: string, displayName = this.name): void {
    const common = { treatAsAlias: true, verificationStatus: 'accepted' as const };
    this.sendAs.push({ sendAsEmail, displayName, isDefault: false, ...common });
  }

  /** Adds an address that the person has not verified yet. */
  addUnverified(sendAsEmail: string): void {
    const verificationStatus = 'pending' as const;
    this.sendAs.push({ sendAsEmail, displayName: this.name, verificationStatus });
  }

  /** True if mail to this address arrives here. A part after + is ignored. */
  hasAddress(address: string): boolean {
    const plain = address.toLowerCase().replace(/\+[^@]*(?=@)/, '');
    return this.sendAs.some(
      ({ sendAsEmail, verificationStatus }) =>
        sendAsEmail.toLowerCase() === plain && verificationStatus !== 'pending',
    );
  }
}
