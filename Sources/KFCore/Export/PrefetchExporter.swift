import KFLists
import KFPipeline
import KFTerms

/// A destination of the images of one run, beside the cache: files (``ImageExporter``) or tar archives
/// (``ShardExporter``).
public protocol PrefetchExporter: AnyObject, Sendable {
    /// The number of items that may be read beyond the first one that has not ended, approximately; nil is unlimited.
    var maxItemsAhead: Int? { get }
    /// The error that makes further items useless; nil while there is none. The run then ends.
    var problem: KingfisherError? { get }

    /// Prepares the destination, before anything is fetched. `forms` are the options of each image that is made of a
    /// source. Further calls have no effect. Blocks.
    func prepare(forms: [KingfisherOptions]) throws(KingfisherError)

    /// Visits the items one at a time and in their order, before they are fetched. An item that is exported already gets
    /// ``PrefetchItem/isExported`` and is not fetched.
    ///
    /// `identity` distinguishes the image: items with equal ones have equal images.
    func visit(_ item: inout PrefetchItem, identity: String)

    /// Exports the images of a visited item that has ended, and returns the outcome with their places and errors. Blocks.
    func export(_ outcome: PrefetchOutcome) -> PrefetchOutcome

    /// Ends the export. `isWhole`: all items of the lists were read and tried. Blocks.
    func finish(isWhole: Bool) throws(KingfisherError)
}

extension ImageExporter: PrefetchExporter {
    /// Nil: sources claim the names of their copies before the images arrive.
    public var maxItemsAhead: Int? { nil }
    /// The error of a full disk. Any other copy that cannot be written is the failure of its item alone.
    public var problem: KingfisherError? { fullDisk.withLock { $0 } }

    /// Creates the directory. Throws `outputFailed` (4002).
    public func prepare(forms: [KingfisherOptions]) throws(KingfisherError) { try makeFolders("") }

    /// Claims the names of an item's copies.
    public func visit(_ item: inout PrefetchItem, identity: String) {
        guard case .success(let source) = item.source else {
            record?.noteInvalid(item)
            return
        }
        item.claim = claim(
            source, identity: identity, Item(number: item.number, name: item.name, columns: item.columns))
    }

    /// Notes an item whose copies the list names, for a run that writes none.
    package func note(_ item: PrefetchItem) {
        if case .success(let source) = item.source { _ = record?.name(source) } else { record?.noteInvalid(item) }
    }

    /// Writes the copies of an item's images.
    public func export(_ outcome: PrefetchOutcome) -> PrefetchOutcome {
        guard let claim = outcome.item.claim else { return outcome }
        let exported = outcome.exported(standIns: onFailure.withLock { $0 }) { image, form throws(KingfisherError) in
            // The descriptions follow the images, and are not written to files.
            form < forms.count ? try exportNow(image, form: form, claim) : nil
        }
        if let source = claim.recorded, exported.error != nil { record?.fail(source) }
        return exported
    }

    /// Does nothing.
    public func finish(isWhole: Bool) {}
}

extension PrefetchOutcome {
    /// Returns the outcome with the places and errors of what `write` makes of each retrieved image.
    package func exported(
        isForgiven: Bool = false, standIns: [RetrieveImageResult] = [],
        _ write: (RetrieveImageResult, _ form: Int) throws(KingfisherError) -> ImageExporter.Copy?
    ) -> PrefetchOutcome {
        guard case .retrieved(let results) = ending else { return self }
        return PrefetchOutcome(
            item: item,
            ending: .retrieved(results.exported(isForgiven: isForgiven, standIns: isPinned ? [] : standIns, write)),
            attempts: attempts, isPinned: isPinned, steps: steps)
    }
}

extension [PrefetchResult] {
    /// Returns the results with the places and errors of what `write` makes of each retrieved image. `write` returns nil
    /// for an image that is not written to a file. With `isForgiven`, the error of storing an image is dropped before. The
    /// image of `standIns` for its form takes the place of one that failed, which stays a failure.
    package func exported(
        isForgiven: Bool = false, standIns: [RetrieveImageResult] = [],
        _ write: (RetrieveImageResult, _ form: Int) throws(KingfisherError) -> ImageExporter.Copy?
    ) -> [PrefetchResult] {
        var results = self
        for form in results.indices {
            let image: RetrieveImageResult
            switch results[form].image {
            case .success(let retrieved): image = retrieved
            case .failure(let error):
                guard !error.isCancellation, !error.isLeftOut, standIns.indices.contains(form) else { continue }
                image = standIns[form]
            }
            if isForgiven { results[form].note(nil) }
            do throws(KingfisherError) {
                results[form].copy = try write(image, form)
            } catch {
                results[form].note(error)
            }
        }
        return results
    }
}
