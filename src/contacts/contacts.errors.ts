import { DomainError } from '../platform/base/errors/domain-error.ts';

/** Contacts that were harvested from mail say what mail says; nobody changes them. */
export class HarvestedContactError extends DomainError {
  constructor() {
    super(
      'contact.harvested',
      'invalid',
      'Contacts with the source inbox are read-only: they come from the mailbox. Create a contact in the address book instead',
    );
  }
}
