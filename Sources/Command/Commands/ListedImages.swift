import KFCore

/// The images that the lists of `--keep-list` and locks name, with the options that say how the lists are read.
struct ListedImages: Sendable {
    /// The option that a message names.
    let option: String

    private let paths: [String]
    private let locks: [String]
    private var lists = ListOptions()
    private var request = RequestOptions()
    private let skipsInvalid: Bool

    /// Nil without either.
    init?(_ arguments: ParsedArguments, locks lockOption: Option<[String]>) throws(UsageError) {
        paths = try arguments[Options.keepList]
        locks = try arguments[lockOption]
        skipsInvalid = try arguments[Options.skipInvalid]
        option = "--\(paths.isEmpty ? lockOption.spec.name : Options.keepList.spec.name)"
        if paths.isEmpty {
            if let spec = Options.listReading.first(where: { arguments.setting(of: $0) != nil }) {
                throw UsageError(message: "--\(spec.name) says how to read a list; it needs --keep-list")
            }
            if skipsInvalid { throw UsageError(message: "--skip-invalid needs --keep-list") }
            if locks.isEmpty { return nil }
            return
        }
        // Prefetch would read the list with this setting. Ignoring it would remove what prefetch has stored.
        for spec in Options.listReading where arguments.setting(of: spec) == nil {
            if arguments.environment[spec.variableName]?.isEmpty == false || arguments.file?.setting(spec) != nil {
                throw UsageError(
                    message: "--\(spec.name) is set in the environment or the config file, but --keep-list obeys the "
                        + "command line only; give it there as well")
            }
        }
        lists = try ListOptions(arguments)
        lists.allowsLocal = true
        request.ignoredParameters = try arguments[Options.keyIgnore]
    }

    /// Reads the lists and locks, and returns the keys that they name, at least one.
    func keys(_ common: CommonSettings) async throws(KingfisherError) -> Set<String> {
        let skip =
            !skipsInvalid
            ? nil
            : { (item: PrefetchItem, error: KingfisherError) in
                let place = "\(item.list == "-" ? "standard input" : item.list): line \(item.line)"
                common.warn(
                    "\(place): skipped: \(RequestURL.redacted(String(item.text.prefix(200)))): \(error.message)")
            }
        var keys =
            paths.isEmpty ? [] : try await PrefetchLists(paths: paths, options: lists).keys(for: request, skip: skip)
        for lock in locks { keys.formUnion(try ImageLock.images(of: lock).map(\.url)) }
        guard !keys.isEmpty else {
            throw .sourceError(
                reason: .invalidListRecord(detail: "\((paths + locks).joined(separator: ", ")): it names no image"))
        }
        return keys
    }
}

extension ListOptions {
    /// Takes the options that say how lists are read. Those that the command does not have keep their defaults.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        self.init()
        format = try arguments[Options.inputFormat]
        urlColumn = try arguments[Options.urlColumn]
        keyColumn = try arguments[Options.keyColumn]
        nameColumn = try arguments[Options.nameColumn]
        headersColumn = try arguments[Options.headersColumn]
        processColumn = try arguments[Options.processColumn]
        hashColumn = try arguments[Options.hashColumn]
        baseURL = try arguments[Options.baseURL]
        allowsLocal = try arguments[Options.allowLocal]
        shard = try arguments[Options.shard]
    }
}
