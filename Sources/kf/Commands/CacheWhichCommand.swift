import Glibc
import KFCore

/// `kf cache which`: prints the keys of a cached file, found by its content.
struct CacheWhichCommand: Sendable {
    private let common: CommonSettings
    private let files: [String]

    private static let fewestDigits = 8

    init(_ arguments: ParsedArguments) throws(UsageError) {
        common = try CommonSettings(arguments)
        files = arguments.operands
        guard !files.isEmpty else { throw UsageError(message: "'kf cache which' needs a file or a SHA-256") }
    }

    func run() async -> ExitStatus {
        let cache = common.cache(sizeLimit: nil, access: .readOnly)
        var status = ExitStatus.success
        for file in files {
            do throws(KingfisherError) {
                let found = try await cache.entries(sha256Prefix: try Self.digits(file))
                guard found.count <= 1 else {
                    let detail = "\(found.count) files begin with these digits; give more of them"
                    throw .cacheError(reason: .imageNotExisting(key: "\(file) (\(detail))"))
                }
                guard let entries = found.first, !entries.isEmpty else {
                    throw .cacheError(reason: .imageNotExisting(key: file))
                }
                for entry in entries { print(entry) }
            } catch {
                common.report(error, for: file)
                status.raise(to: error.isCacheFailure ? .cacheFailed : .someFailed)
            }
        }
        return status
    }

    /// Returns the digits of a hash, or of the hash of a file's content. A file wins over a hash that is its name.
    private static func digits(_ text: String) throws(KingfisherError) -> String {
        let lower = text.lowercased()
        let isHash =
            (fewestDigits...64).contains(lower.utf8.count)
            && lower.utf8.allSatisfy { $0 &- 0x30 < 10 || $0 &- 0x61 < 6 }
        if isHash, access(text, F_OK) != 0 { return lower }
        return try ImageCache.sha256(ofFile: text)
    }

    private func print(_ entry: CachedEntry) {
        // The query is a part of what was asked for.
        Terminal.print(
            common.json ? JSONObject(entry, EntryTable.fields).json : EntryText.name(entry.name, whole: true))
    }
}
