import KFCore

extension RetrievalSettings {
    /// The options of all that is retrieved of a source: its variants, then, with `--placeholder` or `--measure`, the
    /// description of each picture that they show.
    ///
    /// A description is an image of its own in the cache. It has the values that are asked for, and those that cost nothing
    /// besides.
    var retrieved: [KingfisherOptions] {
        var retrieved = variants.map(\.options)
        // Most hits want no description, and do not pay for its level.
        guard placeholder != nil || !measures.isEmpty, let level = DescriptionLevel(measures, placeholder) else {
            return retrieved
        }
        for variant in variants where variants.count + variant.picture == retrieved.count {
            var options = variant.options
            if variant.isWidth {
                options.processor = options.processor.droppingLast()
                options.lateSteps -= 1
            }
            retrieved.append(options.describing(level, copiesUndecoded: copiesUndecoded))
        }
        return retrieved
    }

    /// The name of an image among those of its source, in messages: of its variant, and of its format if that has several.
    func label(of index: Int) -> String? {
        // The only image, as of most hits, does not pay for the search.
        guard variants.count > 1 else { return variants[index].name }
        let own = variants[index]
        guard variants.count(where: { $0.name == own.name }) > 1 else { return own.name }
        let format = own.format?.rawValue ?? "keep"
        return own.name.map { "\($0) \(format)" } ?? format
    }

    /// The figures that are asked for, with the hash by which duplicates are dropped.
    static func measures(_ arguments: ParsedArguments) throws(UsageError) -> [ImageMeasure] {
        let asked = try arguments[Options.measure]
        return try arguments[Options.dropDuplicates] == nil || asked.contains(.dhash) ? asked : asked + [.dhash]
    }

    /// The members and columns that descriptions add to a record.
    var describedNames: [String] { (placeholder == nil ? [] : ["placeholder"]) + measures.map(\.rawValue) }

    /// Returns the rows of a list's item.
    func rows(_ outcome: PrefetchOutcome, _ row: ItemReport) -> [ItemReport] {
        var row = row
        row.attempts = outcome.attempts
        row.key = outcome.item.cacheKey(for: options.request)
        row.isExported = outcome.item.isExported
        return rows(outcome.ending, row, recorded: outcome.item.recordedRows)
    }

    /// Returns the rows of an item, one for each variant: `row` with what the ending says of the image, or what an earlier
    /// run has recorded of it.
    func rows(_ ending: PrefetchOutcome.Ending, _ row: ItemReport, recorded: [RecordedRow] = []) -> [ItemReport] {
        variants.indices.map { variant in
            var report = row
            // The place of the variant's description in `retrieved`.
            let described = variants.count + variants[variant].picture
            var description: DescribedValues?
            report.variant = variants[variant].name
            report.label = label(of: variant)
            switch ending {
            case .failed(let error): report.error = error
            case .notTried: report.isNotTried = true
            case .skipped(let files):
                if report.isExported {
                    (report.recorded, report.error) = (recorded[variant].text, recorded[variant].error)
                }
                if files.indices.contains(variant) { report.cached = (files[variant].path, files[variant].facts) }
                if files.indices.contains(described) {
                    description = value { () throws(KingfisherError) in try files[described].readAll() }
                }
            case .retrieved(let results):
                let (own, other) = (results[variant], results.indices.contains(described) ? results[described] : nil)
                if case .success(let image) = own.image { report.result = image }
                // An image whose description was asked for and fails has failed.
                report.error = own.error ?? other?.error
                report.copy = own.copy
                report.overlay = overlay(of: variant, missedBy: report.error)
                if case .success(let image)? = other?.image {
                    description = value { () throws(KingfisherError) in try image.loadData() }
                }
            }
            report.describe(description, self)
            return report
        }
    }

    /// Returns the description in the bytes of an image; nil if it cannot be read.
    private func value(_ read: () throws(KingfisherError) -> [UInt8]) -> DescribedValues? {
        // The image itself is there: a description that has just been evicted is no failure.
        do throws(KingfisherError) { return DescriptionSerializer.description(in: try read()) } catch { return nil }
    }
}

extension ImageMeasure {
    /// Returns the figures that a description has.
    static func all(of description: DescribedValues) -> StrictJSON {
        let known = allCases.map { StrictJSON.Member(name: $0.rawValue, value: $0.value(of: description, frames: nil)) }
        return .object(known.filter { $0.value != .null })
    }

    /// Returns the figure as JSON; null when it is not known.
    func value(of description: DescribedValues?, frames: Int?) -> StrictJSON {
        if self == .frames { return frames.map { .number("\($0)") } ?? .null }
        guard let description else { return .null }
        let value: StrictJSON? =
            switch self {
            case .dhash: .string(ImageDescription.text(ofHash: description.dhash))
            case .entropy: description.figures.map { .number("\($0.entropy)") }
            case .mean: description.figures.map { .number("\($0.mean)") }
            case .sharpness: description.figures.map { .number("\($0.sharpness)") }
            case .color: description.pixels.map { .string($0.color) }
            case .transparent: description.pixels.map { .bool($0.isTransparent) }
            case .frames: nil
            }
        return value ?? .null
    }
}
