import { type EntityClass, p } from '@mikro-orm/core';

/**
 * A row of another module that owns rows of this one. The owned rows are deleted with it. Only the
 * owner's key is known here.
 */
export interface OwnerRow {
  id: string;
}

/** Entities of other modules that own rows of lower modules. */
export interface OwnerEntities {
  account: EntityClass<OwnerRow>;
  application: EntityClass<OwnerRow>;
}

let entities: OwnerEntities | undefined;

/**
 * Sets the owner entities. The ORM's configuration calls it before the ORM discovers any entity.
 */
export function setOwnerEntities(owners: OwnerEntities): void {
  entities = owners;
}

function ownedBy(owner: keyof OwnerEntities) {
  if (!entities)
    throw new Error(`setOwnerEntities must be called before the entity of ${owner} is used`);
  return p.manyToOne(entities[owner]).ref().deleteRule('cascade');
}

/**
 * Property of a row that belongs to an account, read when the ORM discovers entities: `account: ()
 * => ownedByAccount()`.
 */
export const ownedByAccount = () => ownedBy('account');

/** Property of a row that belongs to an application; see `ownedByAccount`. */
export const ownedByApplication = () => ownedBy('application');
