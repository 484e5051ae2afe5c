import { Readable } from 'node:stream';
import {
  Controller,
  Delete,
  Get,
  Logger,
  Param,
  Post,
  Query,
  Req,
  Res,
  StreamableFile,
} from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Access, AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { toListView } from '../../platform/database/listing.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { UnknownFields } from '../../platform/http/names/unknown-names.guard.ts';
import type { ReportUnknown } from '../../platform/wire/body-fields.ts';
import { mediaType } from './file-record.ts';
import { contentDisposition, toFileFilter, toFileView } from './files.mapper.ts';
import {
  deletedFile,
  fileBytes,
  fileList,
  fileView,
  listFilesQuery,
  type ListFilesQuery,
  uploadedFiles,
} from './files.schema.ts';
import { FilesService } from './files.service.ts';
import { UploadsService } from './uploads/uploads.service.ts';

const WRITE = { anyScope: SCOPES_FOR.writeFiles, write: true } as const;
const UPLOAD_BODY = {
  type: 'object',
  properties: { file: { type: 'string', format: 'binary' } },
  required: ['file'],
  example: { file: 'the bytes of a file' },
};

@ApiTags('files')
@AccountAuth({ anyScope: SCOPES_FOR.readFiles })
@Controller('files')
export class FilesController {
  readonly #log = new Logger(FilesController.name);

  constructor(
    private readonly files: FilesService,
    private readonly uploads: UploadsService,
  ) {}

  @Get()
  @ApiErrors(503)
  @Endpoint({ summary: 'List uploads and attachments, oldest first', response: fileList })
  async list(
    @CurrentAccount() account: AccountPrincipal,
    @Query({ schema: listFilesQuery }) query: ListFilesQuery,
  ) {
    return toListView(await this.files.list(account, toFileFilter(query), query), toFileView);
  }

  @Get(':id')
  @ApiErrors(404)
  @Endpoint({ summary: 'Read the properties of a file', response: fileView })
  async get(@CurrentAccount() account: AccountPrincipal, @Param('id') id: string) {
    return toFileView(await this.files.get(account, id));
  }

  @Get(':id/download')
  @ApiErrors(404, 503)
  @ApiProduces('*/*')
  @Endpoint({
    summary: 'Download a file',
    description:
      'Streams the bytes of the file. A connection that closes early means that the download failed.',
    response: fileBytes,
    headers: { 'Content-Disposition': 'The name of the file' },
  })
  async download(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Req() request: Request,
  ) {
    const file = await this.files.get(account, id);
    // A HEAD request gets no body, so the bytes are not read.
    const bytes =
      request.method === 'HEAD' ? Readable.from([]) : await this.files.download(account, file);
    const download = new StreamableFile(bytes, {
      type: mediaType(file),
      disposition: contentDisposition(file),
      // If only the provider has the bytes, the size may be an estimate.
      ...(file.dataId === null ? {} : { length: file.size }),
    });
    // Once the response has begun, only a broken connection can report the error. A proper end
    // would make the file look complete.
    return download.setErrorHandler((error, response) => {
      this.#log.warn(
        `file ${id} could not be read completely; the download was aborted: ${String(error)}`,
      );
      if (response.headersSent) return response.destroy?.();
      response.statusCode = 503;
      response.send(
        JSON.stringify({ type: 'api_error', message: 'The provider could not return the file' }),
      );
    });
  }

  @Post()
  @Access(WRITE)
  @ApiErrors(413)
  @ApiConsumes('multipart/form-data')
  @ApiBody({ schema: UPLOAD_BODY })
  @Endpoint({
    summary: 'Upload files',
    description:
      'Up to 20 files of 25 MB each; the names of the parts do not matter. Either all files are stored or none. A file that no ' +
      'draft and no waiting outbox message uses is deleted after 7 days.',
    response: uploadedFiles,
  })
  async upload(
    @CurrentAccount() account: AccountPrincipal,
    @UnknownFields() report: ReportUnknown,
    @Req() request: Request,
  ) {
    const ignored = (name: string) => report([{ place: [], name, known: [] }]);
    const form = { headers: request.headers, body: request, ignored };
    return (await this.uploads.upload(account, form)).map(toFileView);
  }

  @Delete(':id')
  @Access(WRITE)
  @ApiErrors(404)
  @Endpoint({
    summary: 'Delete an upload',
    description:
      'Attachments of messages, of drafts and of waiting outbox messages cannot be deleted. The response is `null`.',
    response: deletedFile,
  })
  async delete(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Res() response: Response,
  ) {
    await this.uploads.delete(account, id);
    // By default the framework sends an empty body for null.
    response.status(200).json(null);
    return null;
  }
}
