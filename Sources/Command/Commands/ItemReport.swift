import KFCore

/// The outcome of one source, or of one of its variants.
struct ItemReport: Sendable {
    let source: String
    let name: String
    /// The name of the variant; nil when there are no variants.
    var variant: String?
    /// The name of the image among those of its source, in messages; nil for the only one.
    var label: String?
    var key: String?
    var result: RetrieveImageResult?
    /// The file that the image was written to.
    var copy: ImageExporter.Copy?
    var error: KingfisherError?
    /// The overlay of the variant that failed, if the error is about that and not about the source.
    var overlay: String?
    /// The number of transfers, where the result does not have it.
    var attempts: Int?
    /// The cached file that was found, and not opened.
    var cached: (path: String, facts: ImageFacts)?
    var placeholder: String?
    /// The figures of `--measure`, in its order.
    private(set) var measures: [StrictJSON.Member] = []
    /// Whether the run ended before the source was tried.
    var isNotTried = false
    /// Whether an earlier run has written the source's shard.
    var isExported = false
    /// The row that the earlier run has written.
    var recorded: String?
    /// The place of the source in a data set of shards.
    var sample: ShardNames.Sample?
    var place: (list: String, line: Int)?
    var columns: [StrictJSON.Member]?
    /// The text of --alt-column.
    var alternativeText = ""
    /// Advice that ends the error message.
    var hint: String?

    /// Prints the outcome as the settings ask, and returns its exit status. `subject` names the images that failed alike,
    /// see `subjects`.
    func print(_ common: CommonSettings, as subject: String?) -> ExitStatus {
        if common.json { Terminal.print(json) }
        if let error = problem {
            if error.isClosedOutput { return .success }
            // The user sent the signal and needs no message.
            if let subject, !error.isCancellation {
                common.report(error, for: name + subject, about: overlay, hint: hint ?? Hints.expansion(in: source))
            }
        }
        if let leftOut, let subject, !common.quiet, !common.json {
            let reason = status == "filtered" ? "filtered" : "opted out"
            Terminal.printError("kf: \(Terminal.visible("\(name)\(subject): \(reason): \(leftOut)"))")
        }
        if let result, error == nil {
            if !common.json, !common.quiet, output != "-", left == nil, let path = output ?? result.cachedPath {
                Terminal.print(path)
            }
            if common.verbose { Terminal.printError("kf: \(Terminal.visible(title)): \(Self.describe(result))") }
            warn(common, of: title)
        }
        return problem?.status ?? .success
    }

    /// Prints the warnings: what is lost always, and damage that costs no pixel with `-v`.
    func warn(_ common: CommonSettings, of title: String) {
        if common.verbose, let left { Terminal.printError("kf: \(Terminal.visible(left)) exists and is left as it is") }
        if let output, let format = result?.facts.format, let warning = Self.disagreement(output, format) {
            common.warn(warning)
        }
        for warning in result?.warnings ?? [] where common.verbose || warning.isLoss && !common.quiet {
            common.warn(warning.message, about: title)
        }
        if let unstored { common.warn(unstored, about: title) }
    }

    /// The warning that the original of a stored image is not stored.
    private var unstored: String? { (result?.storing.originalError).map { "the original: \($0.message)" } }

    private var title: String { label.map { "\(name) (\($0))" } ?? name }

    /// Returns what follows the source's name in the message of each report of a source, whose failures are told once: the
    /// labels of the images that failed alike, nothing if all did. Nil where the message of an earlier one tells it.
    static func subjects(of reports: [ItemReport]) -> [String?] {
        let reasons = reports.map { $0.message ?? $0.leftOut }
        return reports.indices.map { index in
            let alike = reports.indices.filter { reasons[$0] == reasons[index] }
            guard alike.first == index else { return nil }
            if alike.count == reports.count { return "" }
            return " (\(alike.compactMap { reports[$0].label }.joined(separator: ", ")))"
        }
    }

    var json: String { JSONObject(self, Self.fields).json }

    /// The JSON object in a shard. Paths on this machine mean nothing there.
    var row: String { JSONObject(self, Self.rowFields).json }

    private static let rowFields = fields.filter { !["path", "output"].contains($0.name) }

    /// The JSON object beside the image in a shard: what does not change from run to run.
    var member: String { JSONObject(self, Self.memberFields).json }

    private static let memberFields = fields.filter { field in
        [
            "source", "key", "shard", "sample", "variant", "bytes", "format", "width", "height", "frames", "decodable",
            "sha256",
            "original_width", "original_height", "original_sha256", "columns",
        ].contains(field.name)
    }

    static let fields: [JSONField<ItemReport>] =
        [
            JSONField("source", "The source as it was given, without user info.") {
                RequestURL.withoutUserInfo($0.source)
            },
            JSONField.ifPresent("list", "In prefetch: the list, and the line in it, from 1.") { $0.place?.list },
            JSONField.ifPresent("line", nil) { $0.place?.line },
            JSONField("key", CommonFields.key) { $0.key },
            JSONField.ifPresent(
                "shard", "With --shards: the name of the archive without .tar, and the key of the image in it."
            ) { $0.sample?.shard },
            JSONField.ifPresent("sample", nil) { $0.sample?.key },
            JSONField.ifPresent("variant", "The variant's name, when there are variants.") { $0.variant },
            JSONField(
                "status",
                "cached (prefetch: already in the cache), exported (in a whole archive of --shards), memory, disk (fetch: from a cache), derived (made from the "
                    + "cached original), revalidated (not modified at the origin), fetched, pinned (the cache had the locked bytes under another URL), remote (from a --remote), stale (expired, and the origin "
                    + "failed or --offline), failed, filtered (by --min-size and the like), opted_out (with --respect-opt-out), duplicate (with --drop-duplicates), cancelled (cut off by a signal or --deadline), or not_tried (the run ended before)."
            ) { $0.status },
            JSONField(
                "fetch_reason",
                "Why it was fetched: new, expired, changed (at the origin), evicted, removed, damaged or forced; else null."
            ) { $0.result?.fetchReason?.word },
            JSONField.ifPresent(
                "removed_at", "When the cache had removed it, as far as it remembers: seconds since 1970."
            ) { $0.result?.fetchReason?.removal?.time.seconds },
            JSONField("path", CommonFields.path) { $0.path },
            JSONField("output", "The file that was written; null when none was, or --no-clobber left what was there.") {
                $0.output
            },
            JSONField(
                "output_state",
                "written, unchanged (the file had these bytes), or left (--no-clobber); null without an output."
            ) { $0.copy?.state.rawValue },
        ] + CommonFields.facts.map { $0.of(\.facts) } + [
            JSONField.ifPresent(
                "original_width",
                "With --shards: the size in pixels and the SHA-256 of the original, as far as the cache knows them."
            ) { $0.original?.measures?.width },
            JSONField.ifPresent("original_height", nil) { $0.original?.measures?.height },
            JSONField.ifPresent("original_sha256", nil) { $0.original?.sha256 },
            JSONField.ifPresent(
                "placeholder", "With --placeholder: the ThumbHash in base 64, or the average colour as #rrggbb."
            ) { $0.placeholder },
            JSONField.ifPresent(
                "measures",
                "With --measure: dhash (16 hexadecimal digits), entropy (bits), mean (0 to 255), sharpness, color (#rrggbb), "
                    + "transparent and frames, as far as they were asked for; null where they are not known."
            ) { $0.measures.isEmpty ? nil : StrictJSON.object($0.measures) },
            JSONField(
                "http_status",
                "The status of the origin's last response, also of a cached one; null without a response."
            ) { $0.httpStatus },
            JSONField("attempts", "The number of transfers; 0 when none was needed.") { $0.transfers },
            JSONField(
                "final_url", "The URL that answered, after redirects, without user info; null without a response."
            ) { $0.result?.response?.url },
            JSONField.ifPresent("redirects", "The URLs that redirected, in their order, without user info.") {
                $0.result.map(\.redirects).flatMap { $0.isEmpty ? nil : $0 }
            },
            JSONField.ifPresent("mirror", "The URL of the --mirror that brought or confirmed the image.") {
                $0.result?.response?.mirror
            },
            JSONField.ifPresent("alternative", "The --alternative that brought the image.") {
                $0.result?.alternative.map(RequestURL.withoutUserInfo)
            },
            JSONField(
                "timings",
                "dns, connect, tls, first_byte and total: seconds since the transfer began; null without a transfer."
            ) { $0.result?.response.map { JSONObject(part: $0.metrics, timings) } },
            JSONField(
                "check",
                "The check on arrival: full (every frame was decoded), structure, or none (kf does not decode the format); "
                    + "null for an image from the cache."
            ) { $0.result?.check?.rawValue },
            JSONField(
                "warnings",
                "Damage that costs no pixel, what processing left out, and why the original of a stored image is not stored. "
                    + "Reported when the image arrives or is made."
            ) { ($0.result?.warnings.map(\.message) ?? []) + [$0.unstored].compactMap(\.self) },
            JSONField(
                "error",
                "null, or code (a stable number), reason (its name) and message (for people). Where they apply: "
                    + "remembered_seconds, for which a remembered failure still counts, advice, the option that helps, and expected "
                    + "and found, the hashes of an image that has changed."
            ) { $0.problem == nil ? nil : JSONObject(part: $0, ownFailure) },
            JSONField.ifPresent(
                "left_out",
                "Of filtered, opted_out and duplicate: what refused the image, the header that opted out, or the sample that is kept."
            ) { $0.leftOut },
            JSONField.ifPresent(
                "columns",
                "In prefetch: the columns or members of the record in the list, without request headers and without the "
                    + "user info of URLs. The values of csv and tsv are strings."
            ) { $0.columns.map(StrictJSON.object) },
        ]

    private static let timings: [JSONField<DownloadMetrics>] = [
        JSONField("dns", nil) { $0.dns }, JSONField("connect", nil) { $0.connect }, JSONField("tls", nil) { $0.tls },
        JSONField("first_byte", nil) { $0.firstByte }, JSONField("total", nil) { $0.total },
    ]

    static let failure: [JSONField<KingfisherError>] = [
        JSONField("code", nil) { $0.errorCode }, JSONField("reason", nil) { $0.reasonName },
        JSONField("message", nil) { $0.message },
        JSONField.ifPresent("remembered_seconds", nil) { $0.secondsRemembered },
        JSONField.ifPresent("advice", nil) { $0.advice },
        JSONField.ifPresent("expected", nil) { $0.hashes?.expected },
        JSONField.ifPresent("found", nil) { $0.hashes?.found },
    ]

    private static let ownFailure: [JSONField<ItemReport>] = failure.map { field in
        if field.name == "message" { return JSONField("message", nil) { $0.message } }
        return JSONField<ItemReport>(name: field.name, meaning: nil) { report, object in
            if let problem = report.problem { field.add(problem, &object) }
        }
    }

    /// The message of the failure, which names what failed if that is not the source.
    var message: String? { problem.map { [overlay, $0.message].compactMap(\.self).joined(separator: ": ") } }

    /// The file that has the image; nil for one that was left as it was.
    var output: String? { left == nil ? copy?.path : nil }

    /// Whether the file of ``output`` was written.
    var isNew: Bool { copy?.state == .written }

    /// A file that existed in the output's place and was left as it is.
    private var left: String? { copy?.state == .left ? copy?.path : nil }

    var path: String? { result?.cachedPath ?? cached?.path }

    var facts: ImageFacts? { result?.facts ?? cached?.facts }

    /// The facts about the original, for a data set.
    private var original: (measures: ImageMeasures?, sha256: String?)? {
        sample == nil ? nil : result.map { ($0.originalMeasures, $0.originalSHA256) }
    }

    var httpStatus: Int? { result?.response?.status ?? error?.httpStatus }

    var transfers: Int { attempts ?? result?.attempts ?? 0 }

    /// The failure of the source, or of storing the image. An image that was left out has not failed.
    var problem: KingfisherError? { (error ?? result?.storing.diskError).flatMap { $0.isLeftOut ? nil : $0 } }

    /// Why the image was left out; nil if it was not.
    var leftOut: String? { error.flatMap { $0.isLeftOut ? $0.message : nil } }

    /// The way the image was obtained, in one word.
    var status: String {
        if isNotTried { return "not_tried" }
        if let error {
            if case .responseError(reason: .filtered) = error { return "filtered" }
            if case .responseError(reason: .duplicate) = error { return "duplicate" }
            return error.isLeftOut ? "opted_out" : error.isCancellation ? "cancelled" : "failed"
        }
        if isExported { return "exported" }
        guard let way = result?.way else { return cached == nil ? "failed" : "cached" }
        // A list has one word for what was there, whether it was only looked up or opened for a copy.
        return place != nil && (way == .disk || way == .memory) ? "cached" : way.rawValue
    }

    /// Returns how an image was obtained, and why: `fetched (evicted on 2030-12-31T18:00:00Z)`.
    static func account(of result: RetrieveImageResult) -> String {
        var text = result.way.rawValue
        if let reason = result.fetchReason {
            let date = (reason.removal?.time).flatMap(DateText.text)
            text += " (\(reason.word)\(date.map { " on \($0)Z" } ?? ""))"
        }
        let redirects = result.redirects.map(RequestURL.redacted)
        if let target = result.response?.url, !redirects.isEmpty {
            text += ", redirected by \(redirects.joined(separator: ", ")) to \(RequestURL.redacted(target)),"
        }
        if let mirror = result.response?.mirror { text += ", from the mirror \(RequestURL.redacted(mirror))," }
        if let name = result.alternative { text += ", from the alternative \(RequestURL.redacted(name))," }
        return Terminal.visible(text)
    }

    private static func describe(_ result: RetrieveImageResult) -> String {
        let facts = result.facts
        var parts = [account(of: result)]
        if let pixels = facts.pixels { parts.append(pixels) }
        parts.append(facts.format.rawValue)
        parts.append("\(facts.bytes) bytes")
        if let check = result.check { parts.append("(check: \(check.rawValue))") }
        if let total = result.response?.metrics.total { parts.append("in \(ByteText.seconds(total))") }
        return parts.joined(separator: " ")
    }

    /// Takes the placeholder and the figures that the settings ask for. The facts must be known.
    mutating func describe(_ description: DescribedValues?, _ settings: RetrievalSettings) {
        placeholder = settings.placeholder.flatMap { description?.value(of: $0) }
        measures = settings.measures.map {
            StrictJSON.Member(name: $0.rawValue, value: $0.value(of: description, frames: facts?.frames))
        }
    }

    /// The warning for an output file whose extension names another format than its bytes.
    private static func disagreement(_ output: String, _ format: ImageFormat) -> String? {
        guard let named = OutputName.format(of: output), named != format else { return nil }
        let remedy = format.isDecodable && named.isEncodable ? "; -f \(named.rawValue) converts it" : ""
        return "\(output) has the bytes of \(format.displayName)\(remedy)"
    }
}

extension CommonSettings {
    /// Reports the failures of a source's images, each once, and returns the gravest status.
    func report(failuresOf reports: [ItemReport], for name: String, hint: String?) -> ExitStatus {
        var status = ExitStatus.success
        for (report, subject) in zip(reports, ItemReport.subjects(of: reports)) {
            guard let problem = report.problem else { continue }
            if let subject { self.report(problem, for: name + subject, about: report.overlay, hint: hint) }
            status.raise(to: problem.status)
        }
        return status
    }
}

extension RetrieveImageResult {
    fileprivate var redirects: [String] { response?.redirects.map(\.url) ?? [] }

    /// The name of the alternative that brought the image; nil for the source itself.
    fileprivate var alternative: String? { source.name == originalSource.name ? nil : source.name }
}
