import Glibc
import KFCore
import KFSystem

/// A source on the command line: a URL, a path, a data: URI, or `-`.
enum SourceArgument {
    static let standardInput = "-"

    /// A source and the given folder that it is in.
    struct Operand: Sendable {
        let text: String
        var root: String?
        /// The reason why it is no source.
        var problem: String?

        /// Returns the source of any operand but `-`. A key replaces the source's own.
        func source(key: String?) throws(KingfisherError) -> Source {
            if let problem { throw .sourceError(reason: .dataProviderError(detail: problem)) }
            return try SourceArgument.source(text, key: key)
        }

        /// Whether it is a URL that can be asked for.
        var isURL: Bool {
            do throws(KingfisherError) { if case .network = try source(key: nil) { return true } } catch {}
            return false
        }
    }

    /// The number of files in a folder from which a terminal is told of it before the work begins.
    private static let many = 10_000

    /// Returns the operands with each folder replaced by the image files in it and below, but for those in `output`. A
    /// folder there whose files are not known is an operand that fails.
    static func expand(_ texts: [String], without output: String?) -> [Operand] {
        var operands: [Operand] = []
        for text in texts {
            guard !text.contains("://"), text != standardInput, ImageFolder.isFolder(text) else {
                operands.append(Operand(text: text))
                continue
            }
            let files = ImageFolder.members(of: text, without: output)
            if files.count >= many, Terminal.isTerminal(Session.current.errors) {
                Terminal.printError("kf: \(files.count) images in \(Terminal.visible(text)); Ctrl-C stops")
            }
            // A folder without images fails by itself, like a file that is missing.
            operands +=
                files.isEmpty
                ? [Operand(text: text)] : files.map { Operand(text: $0.path, root: text, problem: $0.problem) }
        }
        return operands
    }

    /// Returns the source of any text but `-`, since reading standard input takes time. A key replaces the source's own.
    static func source(_ text: String, key: String? = nil) throws(KingfisherError) -> Source {
        if text.isEmpty { throw .sourceError(reason: .emptySource) }
        let lower = text.prefix(8).lowercased()
        if lower.hasPrefix("data:") { return .provider(try DataURI.provider(text, cacheKey: key)) }
        if lower.hasPrefix("file:") {
            return .provider(try LocalFileImageDataProvider(fileURL: text, cacheKey: key))
        }
        if text.contains("://") {
            return .url(try RequestURL(RawText.percentEscaped(text)), key: key)
        }
        do {
            return .provider(try LocalFileImageDataProvider(path: text, cacheKey: key))
        } catch {
            if ImageFolder.isFolder(text) {
                throw .sourceError(
                    reason: .dataProviderError(detail: "the directory has no image files, nor have those below"))
            }
            // Users write URLs as `example.com/cat.jpg`.
            let host = text.prefix { $0 != "/" }
            let isName = host == text && OutputName.format(of: text) != nil
            let parts = host.split(separator: ":", omittingEmptySubsequences: false)
            let isLocal = parts[0] == "localhost" || parts.count == 2 && UInt16(parts[1]) != nil
            guard host.contains(".") || host.hasPrefix("http") || isLocal, !isName, !text.hasPrefix("."),
                !text.contains("*")
            else { throw error }
            throw .sourceError(reason: .dataProviderError(detail: "\(error.message); a URL begins with https://"))
        }
    }

    /// Returns the source by which the cache knows the text. The source itself may be gone. A key that another command
    /// printed stays as it is. A plain name is a key, unless a file has that name.
    static func cachedSource(_ text: String, key: String? = nil) throws(KingfisherError) -> Source {
        let isKey =
            text.hasPrefix("sha256:") || text.hasPrefix(GivenKey.prefix) || text.contains("#user=")
            || text.contains("#trust=")
            || text.hasPrefix("file://") && text.contains("?size=") || text == key
            || !text.isEmpty && !text.contains("/") && !text.contains(":") && !text.withPath({ access($0, F_OK) == 0 })
        return isKey ? .provider(RawImageDataProvider(data: [], cacheKey: key ?? text)) : try source(text, key: key)
    }

    /// The name of the source in messages.
    static func name(_ text: String) -> String {
        if text == standardInput { return "standard input" }
        if text.prefix(5).lowercased() == "data:" { return "data: URI" }
        return RequestURL.redacted(text)
    }
}
