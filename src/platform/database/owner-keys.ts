import { type EntityClass, p } from '@mikro-orm/core';

/** Row of another module that rows belong to, and are deleted with. Only its key is known here. */
export interface OwnerRow {
  id: string;
}

/** Entities of the rows that those of lower modules belong to. */
export interface OwnerEntities {
  account: EntityClass<OwnerRow>;
  application: EntityClass<OwnerRow>;
}

let entities: OwnerEntities | undefined;

/** Names the owners; the configuration of the ORM does it before anything is discovered. */
export function setOwnerEntities(owners: OwnerEntities): void {
  entities = owners;
}

function ownedBy(owner: keyof OwnerEntities) {
  if (!entities) throw new Error(`the entity of ${owner} is not known yet: setOwnerEntities`);
  return p.manyToOne(entities[owner]).ref().deleteRule('cascade');
}

/** Property of a row that belongs to an account: `account: () => ownedByAccount()`, read when the ORM discovers entities. */
export const ownedByAccount = () => ownedBy('account');

/** The same for an application. */
export const ownedByApplication = () => ownedBy('application');
