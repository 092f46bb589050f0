/* SPDX-License-Identifier: MIT
 *
 * Service: HTTP/1.1, kept alive and pipelined: a fixed text at /plaintext, and with --files the regular files beneath a
 * directory. GET and HEAD; no ranges, no conditions, no Date. The parser is Debian's http_parser, from which its authors made
 * llhttp.
 *
 * A file is opened by one directory of its path after the other, of which none may be "..", or a symbolic link: nothing
 * outside can be named, whatever happens to the tree meanwhile.
 */
#include "service.h"

#include <errno.h>
#include <fcntl.h>
#include <http_parser.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_ROOM = 1024, HEADERS_ROOM = 8192 };
#define TEXT "Hello, world!"

/* The fields that are looked at here, besides those that the parser knows; and what their values are to be, where it is one thing. */
enum field { HOST, EXPECT, CODING, OTHER };
static const struct {
    const char *name, *value;
} fields[] = {{"host", NULL}, {"expect", "100-continue"}, {"transfer-encoding", "chunked"}};

static int files = -1; /* the directory */

struct one {
    http_parser parser;
    struct reply *out; /* within feed */
    int error;         /* what is wrong with the present request, as a status; 0: nothing */
    bool no_memory, last;
    bool in_name;      /* of a field */
    bool blank;        /* its value has had a space */
    bool wrong;        /* the value is not the one in `fields` */
    enum field field;  /* which one that is, or may become */
    size_t matched;    /* bytes of its name, then of its value, that are as there */
    unsigned hosts;    /* fields of that name */
    bool expects;      /* to be told to go on, before it sends a body */
    bool coding;       /* there was such a field */
    bool other_coding; /* than the one that is known, or twice */
    size_t length;
    char path[PATH_ROOM]; /* of the present request */
};

/* ---- answers ---- */

static const char *reason(int status)
{
    switch (status) {
    case 400:
        return "400 Bad Request";
    case 404:
        return "404 Not Found";
    case 405:
        return "405 Method Not Allowed\r\nAllow: GET, HEAD";
    case 414:
        return "414 URI Too Long";
    case 431:
        return "431 Request Header Fields Too Large";
    case 501:
        return "501 Not Implemented";
    case 505:
        return "505 HTTP Version Not Supported";
    default:
        return "503 Service Unavailable";
    }
}

/* The head of an answer, and the body where it is a text. */
static void answer(struct one *o, const char *status, const char *type, size_t length, const char *body)
{
    char *to = reply_room(o->out, 256 + length * (body != NULL));
    o->no_memory = o->no_memory || to == NULL;
    if (to == NULL)
        return;
    int n = snprintf(to, 256, "HTTP/1.1 %s\r\nServer: tenter\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s\r\n",
                     status, type, length,
                     o->last                     ? "Connection: close\r\n"
                     : o->parser.http_minor == 0 ? "Connection: keep-alive\r\n"
                                                 : "");
    o->out->size += (size_t)n;
    if (body != NULL && o->parser.method != HTTP_HEAD)
        o->no_memory = o->no_memory || !reply_add(o->out, body, length);
}

static void refuse(struct one *o, int status)
{
    const char *text = reason(status);
    answer(o, text, "text/plain", strcspn(text, "\r"), text);
}

static void plaintext(struct one *o)
{
    static const char whole[] =
        "HTTP/1.1 200 OK\r\nServer: tenter\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\n" TEXT;
    if (!o->last && o->parser.http_minor != 0 && o->parser.method == HTTP_GET)
        o->no_memory = o->no_memory || !reply_add(o->out, whole, sizeof whole - 1);
    else
        answer(o, "200 OK", "text/plain", sizeof TEXT - 1, TEXT);
}

/* ---- files ---- */

static const char *type_of(const char *path)
{
    static const char *const types[][2] = {
        {"html", "text/html"},        {"txt", "text/plain"},    {"css", "text/css"},  {"js", "text/javascript"},
        {"json", "application/json"}, {"svg", "image/svg+xml"}, {"png", "image/png"}, {"jpg", "image/jpeg"}};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && i < sizeof types / sizeof *types; i++)
        if (strcmp(dot + 1, types[i][0]) == 0)
            return types[i][1];
    return "application/octet-stream";
}

/* -1: errno says why. */
static int open_beneath(char *path)
{
    int at = files;
    for (char *slash;; path = slash + 1) {
        slash = strchr(path, '/');
        if (slash != NULL)
            *slash = '\0';
        int fd = -1;
        errno = ENOENT;
        if (path[0] != '\0' && strcmp(path, ".") != 0 && strcmp(path, "..") != 0)
            fd = openat(at, path,
                        O_CLOEXEC | O_NOFOLLOW |
                            (slash != NULL ? O_PATH | O_DIRECTORY : O_RDONLY | O_NONBLOCK | O_NOCTTY));
        int error = errno;
        if (at != files)
            close(at);
        errno = error;
        if (fd < 0 || slash == NULL)
            return fd;
        *slash = '/';
        at = fd;
    }
}

static void file(struct one *o)
{
    struct stat is;
    int fd = open_beneath(o->path + 1);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
        refuse(o, 503);
    } else if (fd < 0 || fstat(fd, &is) != 0 || !S_ISREG(is.st_mode)) {
        refuse(o, 404);
    } else {
        answer(o, "200 OK", type_of(o->path), (size_t)is.st_size, NULL);
        if (is.st_size != 0 && o->parser.method == HTTP_GET) {
            o->out->file = fd;
            o->out->at = 0;
            o->out->left = (size_t)is.st_size;
            return;
        }
    }
    if (fd >= 0)
        close(fd);
}

/* ---- requests ---- */

/* The path alone, as it is meant: no scheme and host, no query, no %41. False: it cannot be. */
static bool resolve(struct one *o)
{
    char *from = o->path, *to = o->path;
    o->path[o->length] = '\0';
    if (from[0] != '/') {
        char *host = strstr(from, "://");
        from = host != NULL ? strchr(host + 3, '/') : NULL;
        if (from == NULL)
            return false;
    }
    for (; *from != '\0' && *from != '?' && *from != '#'; from++) {
        unsigned value;
        if (*from != '%') {
            *to++ = *from;
        } else if (sscanf(from + 1, "%2x", &value) == 1 && strchr("0123456789abcdefABCDEF", from[1]) != NULL &&
                   from[2] != '\0' && strchr("0123456789abcdefABCDEF", from[2]) != NULL && value != 0) {
            *to++ = (char)value;
            from += 2;
        } else
            return false;
    }
    *to = '\0';
    return true;
}

static int begins(http_parser *p)
{
    struct one *o = p->data;
    o->length = 0;
    o->error = 0;
    o->in_name = o->expects = o->coding = o->other_coding = false;
    o->field = OTHER;
    o->hosts = 0;
    return 0;
}

static int takes_url(http_parser *p, const char *text, size_t n)
{
    struct one *o = p->data;
    if (o->length + n >= PATH_ROOM) {
        o->error = 414;
        return 0;
    }
    memcpy(o->path + o->length, text, n);
    o->length += n;
    return 0;
}

/* So many bytes more of what is to be `text`, in whatever case. */
static bool matches(struct one *o, const char *text, const char *more, size_t n)
{
    bool does = n <= strlen(text) - o->matched && strncasecmp(more, text + o->matched, n) == 0;
    o->matched += does ? n : 0;
    return does;
}

/* The field before this one, if there was one, has ended. */
static void has_value(struct one *o)
{
    bool as_there =
        (o->field == EXPECT || o->field == CODING) && !o->wrong && fields[o->field].value[o->matched] == '\0';
    o->expects = o->expects || (o->field == EXPECT && as_there);
    o->other_coding = o->other_coding || (o->field == CODING && (o->coding || !as_there));
    o->coding = o->coding || o->field == CODING;
    o->field = OTHER;
}

/* A part of a field's name. Debian's parser takes spaces for parts of it; another one between a client and us may not, and so
 * see other requests (RFC 9112, 5.1). */
static int takes_name(http_parser *p, const char *text, size_t n)
{
    struct one *o = p->data;
    if (!o->in_name) {
        has_value(o);
        char first = (char)(text[0] | 0x20);
        o->field = first == 'h' ? HOST : first == 'e' ? EXPECT : first == 't' ? CODING : OTHER;
        o->matched = 0;
    }
    o->in_name = true;
    if (memchr(text, ' ', n) != NULL)
        return 1;
    if (o->field != OTHER && !matches(o, fields[o->field].name, text, n))
        o->field = OTHER;
    return 0;
}

static void has_name(struct one *o)
{
    if (o->field != OTHER && fields[o->field].name[o->matched] != '\0')
        o->field = OTHER;
    o->hosts += o->field == HOST;
    o->in_name = o->blank = o->wrong = false;
    o->matched = 0;
}

/* Of a host and a port: what a URI may have there, and no space within (RFC 9112, 3.2). */
static bool names_host(struct one *o, char c)
{
    bool space = c == ' ' || c == '\t';
    if (space || o->blank) {
        o->blank = o->matched != 0;
        return space;
    }
    o->matched = 1;
    return (c >= '0' && c <= ':') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
           strchr(".-_~!$&'()*+,;=%[]", c) != NULL;
}

/* A part of a field's value. A NUL is in none (RFC 9110, 5.5). */
static int takes_value(http_parser *p, const char *text, size_t n)
{
    struct one *o = p->data;
    if (o->in_name)
        has_name(o);
    if (memchr(text, '\0', n) != NULL)
        return 1;
    for (size_t i = 0; i < n && o->field == HOST; i++)
        if (!names_host(o, text[i]))
            return 1;
    if (o->field == EXPECT || o->field == CODING) {
        size_t all = n;
        while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'))
            n--;
        o->wrong = o->wrong || (o->blank && n > 0) || !matches(o, fields[o->field].value, text, n);
        o->blank = o->blank || n < all;
    }
    return 0;
}

/* Of what has a wrong head no more is read: who knows where it ends? */
static int has_head(http_parser *p)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct one *o = p->data;
    bool has_body = (p->flags & F_CHUNKED) != 0 || (p->content_length != 0 && p->content_length != UINT64_MAX);
    has_value(o);
    if (p->http_major != 1 || p->http_minor > 1)
        o->error = 505;
    else if (o->hosts > 1 || (p->http_minor == 1 && o->hosts == 0))
        o->error = 400;
    else if (o->other_coding)
        o->error = 501;
    else {
        if (o->expects && has_body && p->http_minor == 1)
            o->no_memory = o->no_memory || !reply_add(o->out, go_on, sizeof go_on - 1);
        return 0;
    }
    return -1;
}

static int complete(http_parser *p)
{
    struct one *o = p->data;
    o->last = http_should_keep_alive(p) == 0;
    o->out->requests++;
    p->upgrade = 0; /* we do not: what follows is HTTP all the same */
    if (o->error != 0)
        refuse(o, o->error);
    else if (p->method != HTTP_GET && p->method != HTTP_HEAD)
        refuse(o, 405);
    else if (!resolve(o))
        refuse(o, 400);
    else if (strcmp(o->path, "/plaintext") == 0)
        plaintext(o);
    else if (files >= 0)
        file(o);
    else
        refuse(o, 404);
    if (o->last || o->no_memory || o->out->file >= 0 || o->out->size > SERVICE_ENOUGH)
        http_parser_pause(p, 1);
    return 0;
}

static const http_parser_settings settings = {.on_message_begin = begins,
                                              .on_url = takes_url,
                                              .on_header_field = takes_name,
                                              .on_header_value = takes_value,
                                              .on_headers_complete = has_head,
                                              .on_message_complete = complete};

static ssize_t feed(void *one, const char *in, size_t n, struct reply *out)
{
    struct one *o = one;
    o->out = out;
    size_t taken = http_parser_execute(&o->parser, &settings, in, n);
    enum http_errno error = HTTP_PARSER_ERRNO(&o->parser);
    if (o->no_memory)
        return SERVICE_CLOSE;
    if (error == HPE_PAUSED) {
        http_parser_pause(&o->parser, 0);
        return o->last ? SERVICE_CLOSE : (ssize_t)taken;
    }
    if (error == HPE_OK)
        return (ssize_t)taken; /* behind a request to upgrade it stops */
    o->last = true;
    o->parser.method = HTTP_GET;
    refuse(o, error == HPE_HEADER_OVERFLOW ? 431 : error == HPE_CB_headers_complete ? o->error : 400);
    return SERVICE_ERROR;
}

/* ---- the service ---- */

static void *start(struct bench *b)
{
    const char *path = bench_text(b, "files");
    if (path != NULL && (files = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
        bench_die(b, BENCH_USAGE, "--files %s: %s", path, strerror(errno));
    http_parser_set_max_header_size(HEADERS_ROOM);
    return NULL;
}

static void stop(void *all, struct bench *b)
{
    (void)all;
    (void)b;
    if (files >= 0)
        close(files);
}

static void *open_one(void *all)
{
    (void)all;
    struct one *o = malloc(sizeof *o);
    if (o != NULL) {
        memset(o, 0, offsetof(struct one, path));
        http_parser_init(&o->parser, HTTP_REQUEST);
        o->parser.data = o;
    }
    return o;
}

static const struct bench_option own[] = {
    {"files", BENCH_TEXT, NULL, 0, 0, NULL, "", "directory whose regular files are served; absent: /plaintext only",
     NULL, 0, 0, false},
};

const struct service service = {.name = "httpd",
                                .about = "a server of HTTP/1.1",
                                .own = own,
                                .n = sizeof own / sizeof *own,
                                .start = start,
                                .stop = stop,
                                .open = open_one,
                                .close = free,
                                .feed = feed};
