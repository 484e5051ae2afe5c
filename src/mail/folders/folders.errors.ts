import { DomainError, InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import type { OrganizationUnit } from '../../platform/auth/grant-status.ts';

/** Folders were asked for where there are labels, or the other way round. */
export class OtherUnitError extends DomainError {
  constructor(asked: OrganizationUnit) {
    const other = asked === 'folder' ? 'label' : 'folder';
    super('folder.other-unit', 'not-found', `This account has ${other}s and no ${asked}s: use /${other}s`);
  }
}

/** There is one of that name, in whatever case. */
export class DuplicateFolderError extends InvalidInputError {
  constructor(unit: OrganizationUnit, displayName: string) {
    super(`display_name: there is a ${unit} named ${displayName.slice(0, 100)} already`);
  }
}

/** The provider's own folders are neither renamed nor deleted. */
export class StandardFolderError extends InvalidInputError {
  constructor(unit: OrganizationUnit, name: string) {
    super(`id: the ${unit} ${name} belongs to the provider and cannot be changed`);
  }
}

/** Deleting it would delete messages. */
export class FolderNotEmptyError extends InvalidInputError {
  constructor() {
    super('id: the folder has messages or other folders in it: move them first');
  }
}
