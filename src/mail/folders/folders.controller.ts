import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Access, AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
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
  listFoldersQuery,
  type ListFoldersQuery,
  updateFolder,
  type UpdateFolder,
} from './folders.schema.ts';
import { FoldersService } from './folders.service.ts';

const WRITE = { anyScope: SCOPES_FOR.writeFolders, write: true } as const;

/** Folders of accounts that have them; for the others everything here is a 404. */
@ApiTags('folders')
@AccountAuth({ anyScope: SCOPES_FOR.readFolders })
@Controller('folders')
export class FoldersController {
  constructor(private readonly folders: FoldersService) {}

  @Get()
  @ApiErrors(404)
  @Endpoint({ summary: 'List folders, oldest first', response: folderList })
  async list(
    @CurrentAccount() account: AccountPrincipal,
    @Query({ schema: listFoldersQuery }) query: ListFoldersQuery,
  ) {
    return toListView(await this.folders.list(account, 'folder', query), (one) =>
      toFolderView('folder', one),
    );
  }

  @Get(':id')
  @ApiErrors(404)
  @Endpoint({ summary: 'Read a folder', response: folderView })
  async get(@CurrentAccount() account: AccountPrincipal, @Param('id') id: string) {
    return toFolderView('folder', await this.folders.get(account, 'folder', id));
  }

  @Post()
  @Access(WRITE)
  @ApiErrors(404)
  @Endpoint({
    summary: 'Create a folder',
    description: 'It is there at once; the job carries it to the provider.',
    response: folderView,
  })
  async create(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: createFolder }) body: CreateFolder,
  ) {
    const { folder, jobId } = await this.folders.create(account, 'folder', body.display_name);
    return toFolderView('folder', folder, jobId);
  }

  @Put(':id')
  @Access(WRITE)
  @ApiErrors(404)
  @Endpoint({
    summary: 'Rename a folder',
    description: 'With those below it. Those that have a `name` belong to the provider and are refused.',
    response: folderView,
  })
  async update(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Body({ schema: updateFolder }) body: UpdateFolder,
  ) {
    const { folder, jobId } = await this.folders.update(account, 'folder', id, body.display_name);
    return toFolderView('folder', folder, jobId);
  }

  @Delete(':id')
  @Access(WRITE)
  @ApiErrors(404)
  @Endpoint({
    summary: 'Delete a folder',
    description: 'Only one that is empty.',
    response: jobReference,
  })
  async delete(@CurrentAccount() account: AccountPrincipal, @Param('id') id: string) {
    return { job_status_id: await this.folders.delete(account, 'folder', id) };
  }
}
