import KFCore

/// Every option, declared once: name, default, help, parser and completion. A command lists the options that it has.
///
/// This file has what all commands share and what chooses where results go; the others follow the headings of help.
enum Options {
    /// The options of every command, with what `-q` and `-v` mean for it. A command without a meaning does not have the
    /// option.
    static func common(quiet quietHelp: String? = nil, verbose verboseHelp: String? = nil) -> [OptionSpec] {
        let levels = [quietHelp.map { level(quiet, $0) }, verboseHelp.map { level(verbose, $0) }]
        return [cacheDir.spec, json.spec] + levels.compactMap { $0 } + [color.spec, help.spec]
    }

    static var retrieving: [OptionSpec] {
        common(
            quiet: "Print nothing but errors",
            verbose: "Print how each image came, retries and warnings")
    }

    private static func level(_ option: Option<Bool>, _ help: String) -> OptionSpec {
        OptionSpec(option.name, short: option.spec.short, .common, help: help)
    }

    static let help = Option(
        "help", short: "h", .common, .flag, commandLineAlone: true, help: "Show this help; -h shows it on one screen")
    static let cacheDir = Option<String?>(
        "cache-dir", .common, value: "DIR", .one(.text(needs: "a directory")),
        help: "Cache directory (default $XDG_CACHE_HOME/kf, else ~/.cache/kf)")
    static let json = Option("json", .common, .flag, help: "Print JSON, one object per line")
    static let quiet = Option("quiet", short: "q", .common, .flag, help: "Print errors only")
    static let verbose = Option("verbose", short: "v", .common, .flag, help: "Print more details")
    static let color = Option<ColorChoice>(
        "color", .common, .choice(default: .auto), help: "Use colours in messages")
}

/// The destinations of results.
extension Options {
    static let copies: [OptionSpec] = [
        outputDir.spec, name.spec, safeNames.spec, createDirs.spec, noClobber.spec, srcset.spec, srcsetURL.spec,
        srcsetSizes.spec,
    ]

    static let output = Option<String?>(
        "output", short: "o", .output, value: "FILE", .one(.text(needs: "a file name")), excludes: [outputDir.name],
        commandLineAlone: true,
        help: "Write the image to FILE, to standard output if FILE is -, into a directory if it ends in /")
    static let remoteName = Option(
        "remote-name", short: "O", .output, .flag, excludes: [output.name], commandLineAlone: true,
        help: "Write each image into the current directory, or into --output-dir, under its own name")
    static let outputDir = Option<String?>(
        "output-dir", short: "P", .output, value: "DIR", .one(.text(needs: "a directory")),
        help: "Write a copy of each image into the directory DIR")
    static let name = Option<OutputTemplate?>(
        "name", .output, value: "TEMPLATE",
        OptionForm(absent: nil) { (given) throws(UsageError) in
            do throws(OutputTemplate.Problem) { return try OutputTemplate(given.text) } catch {
                throw UsageError(message: "--name '\(given.text)': \(error.message)\(given.origin.note)")
            }
        },
        byDefault: "{stem}.{ext}", help: "File names of the copies in --output-dir")
    static let safeNames = Option(
        "safe-names", .output, .flag, help: "Keep only letters, digits and -_.+ in names")
    static let createDirs = Option(
        "create-dirs", .output, .flag,
        help: "Create missing parent directories of -o, --output-dir, --shards and --srcset")
    static let noClobber = Option("no-clobber", .output, .flag, help: "Leave output files that exist as they are")

    static let srcset = Option<String?>(
        "srcset", .output, value: "FILE", .one(.text(needs: "the name of a file")),
        excludes: [noClobber.name], commandLineAlone: true,
        help: "Write a <picture> for each source, or its JSON (FILE.json), with the files in --output-dir")
    static let srcsetURL = Option<String?>(
        "srcset-url", .output, value: "URL",
        .one("a URL or path without blanks, such as /images/") { text in
            text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7f } ? text : nil
        },
        help: "What the URLs in --srcset begin with (default the path from FILE to the copies)")
    static let srcsetSizes = Option(
        "srcset-sizes", .output, value: "SIZES", .number(default: "100vw", .text),
        help: "The width that a picture has in the page, as the attribute sizes has it")

    static let pruneOutput = Option(
        "prune-output", .output, .flag, excludes: [shards.name, shard.name], commandLineAlone: true,
        help: "Remove copies that an earlier such run wrote to --output-dir and this list does not name")

    static let archives: [OptionSpec] = [
        shards.spec, shardSize.spec, captionColumn.spec, dropDuplicates.spec,
    ]

    static let shards = Option<String?>(
        "shards", .output, value: "DIR", .one(.text(needs: "a directory")),
        excludes: [outputDir.name, prefetchDryRun.name],
        help: "Write tar archives of --shard-size images, for WebDataset, into the directory DIR")
    static let shardSize = Option(
        "shard-size", .output, value: "N", .number(default: 10_000, .integer(in: 1...1_000_000)),
        help: "Items per archive of --shards, 1 to 1000000")
    static let dropDuplicates = Option<Int?>(
        "drop-duplicates", .output,
        .choice({ ImageCache.duplicateDistances.map { "\($0)" } }, default: nil, nil) { Int($0) }, valueOptional: true,
        help: "Leave out images that equal an earlier one, or differ in at most N bits of their dhash")
    static let captionColumn = Option<String?>(
        "caption-column", .output, value: "NAME|N", .one(.text(needs: "a column")),
        help: "Column with the captions that --shards writes as .txt beside the images")
}

/// The format of lists, their columns, and the limit of failures.
extension Options {
    /// The names of the options whose file the run writes.
    static let written = ["output", "srcset", "results", "failures", "remote-dropped", "cookie-jar", "lock"]

    static let lists: [OptionSpec] = [
        inputFormat.spec, urlColumn.spec, keyColumn.spec, nameColumn.spec, headersColumn.spec, processColumn.spec,
        hashColumn.spec, altColumn.spec,
        baseURL.spec, allowLocal.spec, shard.spec, pruneOutput.spec,
        skipInvalid.spec.onCommandLine(.output, help: "Let --prune-output go on beside lines that are not URLs"),
        printed.spec, annotations.spec,
        prefetchDryRun.spec, results.spec, ordered.spec, failures.spec,
        maxFailures.spec,
    ]

    static let inputFormat = Option<ListFormat?>(
        "input-format", .lists,
        .choice({ ["auto"] + ListFormat.allCases.map(\.rawValue) }, default: "auto", nil) {
            $0 == "auto" ? .some(nil) : ListFormat(rawValue: $0)
        },
        help: "Format of the lists; auto goes by the file name and recognises JSON lines")
    static let urlColumn = column(
        "url-column", byDefault: "url", help: "Column (csv, tsv) or member (jsonl, also images[].url) with the URLs")
    static let keyColumn = column("key-column", help: "Column with cache keys, as for fetch --key")
    static let nameColumn = column("name-column", help: "Column with names for the copies, the {stem} of --name")
    static let headersColumn = column(
        "headers-column", help: "Column with request headers: 'Name: value' lines, or an object in jsonl")
    static let processColumn = column("process-column", help: "Column with processors to apply after those of -p")
    static let hashColumn = column(
        "hash-column", help: "Column with the hashes that the images must have, as for fetch --hash")
    static let altColumn = Option<String?>(
        "alt-column", .lists, value: "NAME", .one(.text(needs: "a column's name")),
        help: "Column with the texts that --srcset puts into alt")
    static let baseURL = Option<RequestURL?>(
        "base-url", .lists, value: "URL",
        .one("an http or https URL without a password") { text in
            // The message for any other text is the expectation above.
            guard let url = try? RequestURL(text), url.credentials == nil else { return nil }
            return url
        },
        help: "Complete relative URLs of lists with this one, as a page would")
    static let allowLocal = Option("allow-local", .lists, .flag, help: "Accept paths and file: URLs from lists")
    static let shard = Option<ListShard?>(
        "shard", .lists, value: "I/N[,host]",
        .one("I/N with I from 0 to N-1, such as 0/4, or I/N,host") { text in
            let parts = text.split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false)
            let numbers = parts[0].split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
            guard numbers.count == 2, let index = numbers[0], let count = numbers[1],
                let criterion = parts.count == 1 ? .key : ListShard.Criterion(rawValue: String(parts[1]))
            else { return nil }
            return ListShard(index: index, count: count, by: criterion)
        },
        help: "Fetch only part I (0 to N-1) of the lists: one of N equal parts; ,host leaves each host to one part")
    /// The copies whose paths standard output has.
    enum Printed: String, CaseIterable { case all, written, none }
    static let printed = Option<Printed>(
        "print", .lists, .choice(default: .all), excludes: [json.name],
        help: "Which paths of copies to print: all, those written anew, or none")
    static let annotations = Option<Annotations.Choice>(
        "annotations", .lists, .choice(default: .auto),
        help: "Show failures at the lines of the list; auto does so under GITHUB_ACTIONS")
    static let prefetchDryRun = Option(
        "dry-run", .lists, .flag,
        help: "Print a state for each line (hit, stale, missing, invalid, left_out), and fetch nothing")
    static let results = Option<String?>(
        "results", .lists, value: "FILE.csv|.jsonl", .one(.text),
        help: "Write a row for each item to FILE: its result, and the columns of its line")
    static let ordered = Option(
        "ordered", .lists, .flag, help: "Keep the order of the lists in --json, --results, --shards and other output")
    static let failures = Option<String?>(
        "failures", .lists, value: "FILE", .one(.text),
        help: "Write the lines that failed or were not tried to FILE, a list for another run")
    static let maxFailures = Option<FailureLimit?>(
        "max-failures", .lists, value: "N|P%",
        .one("a number such as 20, or a share such as 5%") { text in
            if text.hasSuffix("%"), let percent = Double(text.dropLast()), (0...100).contains(percent) {
                return .percent(percent)
            }
            return Int(text).flatMap { $0 >= 0 ? .count($0) : nil }
        },
        help: "Stop when N items have failed, or more than P% of at least 100 items")

    private static func column(
        _ name: String, byDefault: String? = nil, help: String
    ) -> Option<ListOptions.Column?> {
        Option(
            name, .lists, value: "NAME|N",
            .one(
                ValueReader("a column's name, or its number from 1") { text in
                    guard !text.isEmpty, text.contains(where: { $0 != "0" }) else { return nil }
                    return ListOptions.Column(text)
                }),
            byDefault: byDefault, help: help)
    }
}
