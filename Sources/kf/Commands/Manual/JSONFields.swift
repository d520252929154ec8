/// What the members of `--json` objects mean.
enum JSONFields {
    struct Group {
        let title: String
        let fields: [(name: String, meaning: String)]
    }

    static let groups = [
        Group(
            title: "Every object",
            fields: [
                ("schema", "1."),
                ("summary", "true in the last object of a command that prints several; the others do not have it."),
                ("exit_status", "What the process is about to end with."),
            ]),
        Group(
            title: "kf fetch and kf prefetch: one object an item, as it ends",
            fields: [
                ("source", "What was asked for, without user info."),
                ("key", "The cache key; null when the source is not understood."),
                ("variant", "The variant's name, where there are variants."),
                ("list, line", "Of prefetch: the list and the line in it, from 1."),
                (
                    "status",
                    "memory, disk (from a cache), derived (made from the cached original), revalidated (the origin said "
                        + "that it has not changed), fetched, stale (expired, and the origin failed), failed, or skipped "
                        + "(prefetch: in the cache already)."
                ),
                ("path", "The image's file in the cache; null when it is not there. Read-only."),
                ("output", "The file that was written; null when none was."),
                ("bytes", "The size of the image's file."),
                ("format", "png, jpeg, gif, webp, avif, heic, jxl, bmp, tiff, ico or svg, by its bytes."),
                ("width, height", "In pixels, as stored; null when kf cannot decode the format."),
                ("frames", "1 for a still image."),
                ("decodable", "Whether kf can decode the format."),
                ("sha256", "Of the image's file, in hexadecimal digits."),
                ("http_status", "Of the origin's last answer, a remembered one too; null when it was not asked."),
                ("attempts", "How many transfers that took; 0 when none was needed."),
                (
                    "timings",
                    "dns, connect, tls, first_byte and total: seconds from the transfer's beginning; null without one."
                ),
                (
                    "check",
                    "How the image was checked when it arrived: full (every frame was decoded), structure, or none (kf "
                        + "does not decode the format); null when it came from the cache."
                ),
                (
                    "warnings",
                    "What is wrong with the file although no pixel is missing, and what processing left out; said when the "
                        + "image arrives or is made."
                ),
                ("error", "null, or code (a number that stays), reason (its name) and message (for people)."),
            ]),
        Group(
            title: "Summaries of kf fetch and kf prefetch",
            fields: [
                ("sources", "Of fetch: how many there were."),
                ("completed, skipped, failed", "Of prefetch: how many items came, were there already, failed."),
                ("bytes, seconds", "Of prefetch: what came, and in what time."),
            ]),
        Group(
            title: "kf cache stat",
            fields: [
                ("directory, exists", "Which cache, and whether there is one."),
                ("entries, originals, variants, expired", "How many entries, and of which kind."),
                ("expired_exact", "Whether expired is exact, or may count some that expire within the hour."),
                ("bytes", "Of all entries."),
                ("files, stored_bytes", "Equal bytes are stored once: how many files there are, and their size."),
                ("allocated_bytes", "What the files take on the disk, as du counts; null when it was not measured."),
                (
                    "partials, partial_bytes",
                    "How many partial downloads there are, and their size, which counts in the limit."
                ),
                ("limit", "The size past which old entries go; 0 is none."),
                ("hits, misses", "At least so many: a busy cache does not count all."),
                ("counted_since", "When the counting began, in seconds since 1970; null for ever since."),
                ("ages, hosts, formats", "name, entries and bytes of each."),
            ]),
        Group(
            title: "kf cache ls and kf cache path: one object an entry",
            fields: [
                (
                    "identifier",
                    "What was done to the image; empty for an original. vary= and a digest come first where Vary selects."
                ),
                ("http_status", "Of a remembered answer without an image, whose path and format are null; else null."),
                ("url", "Where it came from."),
                ("created, expires, accessed", "In seconds since 1970; expires is null for what never does."),
                ("expired", "Whether it has to be asked for again."),
                ("hits", "How often it served, at least."),
                ("etag, last_modified", "What the origin is asked with, when it has expired; null without."),
                ("original", "The SHA-256 of the original that it was made from; null for an original."),
            ]),
        Group(
            title: "kf cache explain",
            fields: [
                (
                    "next",
                    "What the next fetch does: memory, disk, derive, revalidate, request, answer, stale or refuse."
                ),
                ("reasons", "Why, in words."),
                ("conditions", "The headers of a conditional request."),
                ("can_serve_stale", "Whether the expired image serves when the origin fails."),
                ("entries", "What is cached of the source, as ls prints it."),
            ]),
        Group(
            title: "kf cache report",
            fields: [
                ("entries, bytes, thumbnails", "What the cache has, the page's size, and how many pictures are on it.")
            ]),
        Group(
            title: "kf cache clean and kf cache rm",
            fields: [
                ("dry_run", "Whether nothing was removed in fact."),
                ("removed, bytes", "How many entries, and their size."),
                ("partials, partial_bytes", "How many partial downloads, and their size."),
            ]),
        Group(
            title: "kf cache verify",
            fields: [
                ("kind, damage", "What kind of finding it is, and whether it is damage or only litter."),
                ("path, entries, detail", "The file, the entries that it concerns, and more in words."),
                ("repaired", "Whether it was put right; in the summary, how many were."),
                ("clean", "In the summary: nothing was found."),
                ("found, counts", "How many findings there are, in all and by kind."),
            ]),
        Group(
            title: "kf config",
            fields: [
                ("option, value", "The long name, and its value: text, a switch's true or false, or a list."),
                ("origin", "default, command-line, environment or file."),
                ("file, line", "Where in the config file it stands."),
                ("variable", "The environment variable of the option."),
                ("takes", "What stands for its value in help; null for a switch."),
                ("commands", "The commands that have it."),
                ("config_file, exists", "In the summary: the file's path, and whether it is there."),
            ]),
    ]
}
