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
  labelList,
  labelView,
  listFoldersQuery,
  type ListFoldersQuery,
  updateFolder,
  type UpdateFolder,
} from './folders.schema.ts';
import { FoldersService } from './folders.service.ts';

const WRITE = { anyScope: SCOPES_FOR.writeFolders, write: true } as const;

/** Labels of accounts that have them; for the others everything here is a 404. */
@ApiTags('labels')
@AccountAuth({ anyScope: SCOPES_FOR.readFolders })
@Controller('labels')
export class LabelsController {
  constructor(private readonly folders: FoldersService) {}

  @Get()
  @ApiErrors(404)
  @Endpoint({ summary: 'List labels, oldest first', response: labelList })
  async list(
    @CurrentAccount() account: AccountPrincipal,
    @Query({ schema: listFoldersQuery }) query: ListFoldersQuery,
  ) {
    return toListView(await this.folders.list(account, 'label', query), (one) => toFolderView('label', one));
  }

  @Get(':id')
  @ApiErrors(404)
  @Endpoint({ summary: 'Read a label', response: labelView })
  async get(@CurrentAccount() account: AccountPrincipal, @Param('id') id: string) {
    return toFolderView('label', await this.folders.get(account, 'label', id));
  }

  @Post()
  @Access(WRITE)
  @ApiErrors(404)
  @Endpoint({
    summary: 'Create a label',
    description: 'It is there at once; the job carries it to the provider.',
    response: labelView,
  })
  async create(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: createFolder }) body: CreateFolder,
  ) {
    const { folder, jobId } = await this.folders.create(account, 'label', body.display_name);
    return toFolderView('label', folder, jobId);
  }

  @Put(':id')
  @Access(WRITE)
  @ApiErrors(404)
  @Endpoint({
    summary: 'Rename a label',
    description: 'With those below it. Those that have a `name` belong to the provider and are refused.',
    response: labelView,
  })
  async update(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Body({ schema: updateFolder }) body: UpdateFolder,
  ) {
    const { folder, jobId } = await this.folders.update(account, 'label', id, body.display_name);
    return toFolderView('label', folder, jobId);
  }

  @Delete(':id')
  @Access(WRITE)
  @ApiErrors(404)
  @Endpoint({
    summary: 'Delete a label',
    description: 'Its messages stay.',
    response: jobReference,
  })
  async delete(@CurrentAccount() account: AccountPrincipal, @Param('id') id: string) {
    return { job_status_id: await this.folders.delete(account, 'label', id) };
  }
}
