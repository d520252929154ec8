import KFCore

/// What is said of one source when it has ended.
struct ItemReport: Sendable {
    let source: String
    let name: String
    /// The name of the variant, if it has one.
    var variant: String?
    var key: String?
    var result: RetrieveImageResult?
    var output: String?
    var error: KingfisherError?
    /// Requests made, when it is not the result that knows.
    var attempts: Int?
    /// In the cache already, and not looked at.
    var skipped: StoredFile?
    /// Of an item of a list.
    var place: (list: String, line: Int)?
    /// What may help, when that is not the same for every such error.
    var hint: String?

    init(source: String, name: String, variant: String? = nil) {
        self.source = source
        self.name = name
        self.variant = variant
    }

    /// Prints it as the settings say, and gives the status that it means for the process.
    func print(_ common: CommonSettings, on screen: Screen? = nil) -> ExitStatus {
        let storeError = result?.storing.diskError
        if common.json { Terminal.print(json.line) }
        if let error = error ?? storeError {
            if error.isClosedOutput { return .success }
            // Who pressed the key knows.
            if !error.isCancellation {
                common.report(error, for: title, hint: hint ?? (error.isRemembered ? Self.askAgain : nil))
            }
        }
        if let result, error == nil {
            if let screen {
                do throws(KingfisherError) { try draw(result, screen) } catch {
                    common.report(error, for: title)
                    return .someFailed
                }
            } else if !common.json, output == nil, let path = result.cachedPath {
                Terminal.print(path)
            }
            if common.verbose {
                Terminal.printError("kf: \(Terminal.visible(title)): \(Self.describe(result))")
                for warning in result.warnings {
                    Terminal.printError("kf: warning: \(Terminal.visible(title)): \(warning)")
                }
            }
            if !common.quiet, let output, let warning = Self.disagreement(output, result.facts.format) {
                Terminal.printError("kf: warning: \(Terminal.visible(warning))")
            }
        }
        guard let error = error ?? storeError else { return .success }
        return error.isCacheFailure ? .cacheFailed : .someFailed
    }

    private static let askAgain = "--force-refresh asks again"

    private func draw(_ result: RetrieveImageResult, _ screen: Screen) throws(KingfisherError) {
        let text = try TerminalPicture.text(result, screen.form, columns: screen.columns, rows: screen.rows)
        Terminal.print(String(text.dropLast()))
    }

    private var title: String { variant.map { "\(name) (\($0))" } ?? name }

    var json: JSONObject {
        let facts = result?.facts ?? skipped?.facts
        var object = JSONObject()
        object.add("schema", 1)
        object.add("source", RequestURL.withoutUserInfo(source))
        if let place {
            object.add("list", place.list)
            object.add("line", place.line)
        }
        object.add("key", key)
        if let variant { object.add("variant", variant) }
        object.add("status", status)
        object.add("path", result?.cachedPath ?? skipped?.path)
        object.add("output", output)
        object.add(facts: facts)
        object.add("http_status", result?.response?.status ?? error?.httpStatus)
        object.add("attempts", attempts ?? result?.attempts ?? 0)
        object.add("timings", result?.response.map { JSONObject(timings: $0.metrics) })
        object.add("check", result?.check?.rawValue)
        object.add("warnings", strings: result?.warnings ?? [])
        object.add("error", (error ?? result?.storing.diskError).map { JSONObject(error: $0) })
        return object
    }

    /// How it came, in one word.
    var status: String {
        if error != nil { return "failed" }
        return result?.way.rawValue ?? (skipped == nil ? "failed" : "skipped")
    }

    private static func describe(_ result: RetrieveImageResult) -> String {
        let facts = result.facts
        var parts = [result.way.rawValue]
        if let width = facts.width, let height = facts.height { parts.append("\(width)x\(height)") }
        parts.append(facts.format.rawValue)
        parts.append("\(facts.bytes) bytes")
        if let check = result.check { parts.append("(check: \(check.rawValue))") }
        if let total = result.response?.metrics.total { parts.append("in \(ByteText.seconds(total))") }
        return parts.joined(separator: " ")
    }

    /// A file name that says another format than its bytes are.
    private static func disagreement(_ output: String, _ format: ImageFormat) -> String? {
        let name = output.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return nil }
        var said = name[name.index(after: dot)...].lowercased()
        if said == "jpeg" { said = "jpg" }
        guard let named = ImageFormat.allCases.first(where: { $0.fileExtension == said }), named != format else {
            return nil
        }
        let remedy = format.isDecodable && named.isEncodable ? "; to convert it say -f \(named.rawValue)" : ""
        return "\(output) is a \(format.displayName) file\(remedy)"
    }
}
