import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';
import { Access, AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { OrganizationUnit } from '../../platform/auth/grant-status.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { jobReference } from '../../platform/wire/wire.schema.ts';
import { toListView } from '../../platform/database/listing.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { toDisplayName, toFolderChange, toFolderView } from './folders.mapper.ts';
import {
  createFolder,
  type CreateFolder,
  folderList,
  folderView,
  labelList,
  labelView,
  listFoldersQuery,
  updateFolder,
  type UpdateFolder,
} from './folders.schema.ts';
import { FoldersService } from './folders.service.ts';

const WRITE = { anyScope: SCOPES_FOR.writeFolders, write: true } as const;

/** Schemas and texts that differ between folders and labels. */
interface UnitTexts {
  view: typeof folderView | typeof labelView;
  list: typeof folderList | typeof labelList;
  deletion: string;
}

/**
 * The same routes for folders and labels. An account has one of the two; requests for the other get
 * 404.
 */
function controllerOf(unit: OrganizationUnit, { view, list, deletion }: UnitTexts) {
  const tag = `${unit}s`;

  @ApiTags(tag)
  @AccountAuth({ anyScope: SCOPES_FOR.readFolders })
  @Controller(tag)
  class UnitController {
    constructor(private readonly folders: FoldersService) {}

    @Get()
    @ApiErrors(404)
    @Endpoint({ summary: `List ${tag}, oldest first`, response: list })
    async list(
      @CurrentAccount() account: AccountPrincipal,
      @Query({ schema: listFoldersQuery }) query: z.infer<typeof listFoldersQuery>,
    ) {
      return toListView(await this.folders.list(account, unit, query), (one) =>
        toFolderView(unit, one),
      );
    }

    @Get(':id')
    @ApiErrors(404)
    @Endpoint({ summary: `Read a ${unit}`, response: view })
    async get(@CurrentAccount() account: AccountPrincipal, @Param('id') id: string) {
      return toFolderView(unit, await this.folders.get(account, unit, id));
    }

    @Post()
    @Access(WRITE)
    @ApiErrors(404)
    @Endpoint({
      summary: `Create a ${unit}`,
      description:
        'The new object is visible immediately. A job sends it to the provider; `job_status_id` names that job.',
      response: view,
    })
    async create(
      @CurrentAccount() account: AccountPrincipal,
      @Body({ schema: createFolder }) body: CreateFolder,
    ) {
      const { folder, jobId } = await this.folders.create(account, unit, toDisplayName(body));
      return toFolderView(unit, folder, jobId);
    }

    @Put(':id')
    @Access(WRITE)
    @ApiErrors(404)
    @Endpoint({
      summary: `Rename a ${unit}`,
      description:
        'Also renames everything below it. An object with a `name` belongs to the provider and cannot be renamed.',
      response: view,
    })
    async update(
      @CurrentAccount() account: AccountPrincipal,
      @Param('id') id: string,
      @Body({ schema: updateFolder }) body: UpdateFolder,
    ) {
      const change = toFolderChange(body);
      const { folder, jobId } = await this.folders.update(account, unit, id, change);
      return toFolderView(unit, folder, jobId);
    }

    @Delete(':id')
    @Access(WRITE)
    @ApiErrors(404)
    @Endpoint({ summary: `Delete a ${unit}`, description: deletion, response: jobReference })
    async delete(@CurrentAccount() account: AccountPrincipal, @Param('id') id: string) {
      return { job_status_id: await this.folders.delete(account, unit, id) };
    }
  }
  // OpenAPI operation ids begin with the class name.
  Object.defineProperty(UnitController, 'name', {
    value: unit === 'folder' ? 'FoldersController' : 'LabelsController',
  });
  return UnitController;
}

export const FoldersController = controllerOf('folder', {
  view: folderView,
  list: folderList,
  deletion: 'The folder must be empty.',
});

export const LabelsController = controllerOf('label', {
  view: labelView,
  list: labelList,
  deletion: 'Messages with the label stay.',
});
