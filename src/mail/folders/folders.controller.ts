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
import { ApiErrors } from '../../platform/http/error.schema.ts';
import { toFolderView } from './folders.mapper.ts';
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

/** Where folders and labels differ. */
interface UnitTexts {
  view: typeof folderView | typeof labelView;
  list: typeof folderList | typeof labelList;
  deletion: string;
}

/** The same routes for folders and for labels; of accounts that have the other, everything here is a 404. */
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
      description: 'It is there at once; the job carries it to the provider.',
      response: view,
    })
    async create(
      @CurrentAccount() account: AccountPrincipal,
      @Body({ schema: createFolder }) body: CreateFolder,
    ) {
      const { folder, jobId } = await this.folders.create(account, unit, body.display_name);
      return toFolderView(unit, folder, jobId);
    }

    @Put(':id')
    @Access(WRITE)
    @ApiErrors(404)
    @Endpoint({
      summary: `Rename a ${unit}`,
      description:
        'With those below it. Those that have a `name` belong to the provider and are refused.',
      response: view,
    })
    async update(
      @CurrentAccount() account: AccountPrincipal,
      @Param('id') id: string,
      @Body({ schema: updateFolder }) body: UpdateFolder,
    ) {
      const { folder, jobId } = await this.folders.update(account, unit, id, body.display_name);
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
  // Names of operations begin with it.
  Object.defineProperty(UnitController, 'name', {
    value: unit === 'folder' ? 'FoldersController' : 'LabelsController',
  });
  return UnitController;
}

export const FoldersController = controllerOf('folder', {
  view: folderView,
  list: folderList,
  deletion: 'Only one that is empty.',
});

export const LabelsController = controllerOf('label', {
  view: labelView,
  list: labelList,
  deletion: 'Its messages stay.',
});
