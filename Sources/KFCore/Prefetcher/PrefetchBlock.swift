import KFLists
import KFPipeline
import KFStorage
import KFTerms

/// Items that have been read.
struct PrefetchBlock: Sendable {
    var items: [PrefetchItem] = []
    /// The error of a list that could not be read to its end.
    var broken: KingfisherError?
    var isLast = false
    /// With the last block: the number of lists that were not read to their end.
    var unreadLists = 0
}

/// Items that have been looked up, separated into cached and missing ones.
struct PrefetchFindings: Sendable {
    var ended: [PrefetchOutcome] = []
    var missing: [PrefetchWish] = []
    /// Whether the items were looked up in the cache.
    var isLookedUp = false
    /// The items of a look-up that failed, and its error.
    var untried: [PrefetchItem] = []
    var problem: KingfisherError?
}

/// An item to be fetched.
struct PrefetchWish: Sendable {
    let item: PrefetchItem
    /// The retrieval of each form; empty with an error.
    var retrievals: [Retrieval] = []
    /// The terms of asking its source, if a look-up found that it is missing.
    var asking: Asking?
    /// The error of the item's record.
    var error: KingfisherError?

    /// Returns a wish for each item. Modifiers without an identity run.
    static func each(
        of items: [PrefetchItem], _ forms: [OptionsBox], _ manager: KingfisherManager, _ lock: LockedRun?
    ) async -> [PrefetchWish] {
        let forms = forms.map { $0.identified(by: manager) }
        let needsModifiers = forms.contains { !$0.value.request.isPrepared }
        var wishes: [PrefetchWish] = []
        wishes.reserveCapacity(items.count)
        for item in items {
            do throws(KingfisherError) {
                let source = try item.source.get()
                var pin = item.hash
                if pin == nil, let lock { pin = try lock.pin(of: source) }
                var retrievals: [Retrieval] = []
                retrievals.reserveCapacity(forms.count)
                for form in forms {
                    var box = item.options(form)
                    if needsModifiers { box = OptionsBox(try await manager.prepared(box.value, for: source)) }
                    retrievals.append(Retrieval(source, box, manager.cache, pin: pin))
                }
                wishes.append(PrefetchWish(item: consume item, retrievals: retrievals))
            } catch {
                wishes.append(PrefetchWish(item: consume item, error: error))
            }
        }
        return wishes
    }

    /// Returns the remembered refusal of an image that is absent in all of its forms, of which `seen` is what a look-up has
    /// shown; nil if it may be asked for. Static, because a call on a wish of an array would copy its item.
    static func refusal(
        of retrievals: [Retrieval], _ seen: ArraySlice<ImageCache.Seen>, now: Timestamp
    ) -> KingfisherError? {
        guard case .absent(.entry(let answer))? = seen.first, seen.allSatisfy(\.isAbsent),
            let first = retrievals.first, first.cache === first.originals, first.cache.layers.isEmpty
        else { return nil }
        return first.refusal(by: .entry(answer), now: now)
    }
}

extension OptionsBox {
    fileprivate func identified(by manager: KingfisherManager) -> OptionsBox {
        let options = manager.identified(value)
        return options.request.responderIdentity == value.request.responderIdentity ? self : OptionsBox(options)
    }
}

extension [PrefetchWish] {
    /// The cache of all images; nil if there are several.
    var cache: ImageCache? {
        guard let cache = first?.retrievals.first?.cache else { return nil }
        return allSatisfy { $0.retrievals.allSatisfy { $0.cache === cache } } ? cache : nil
    }
}

extension PrefetchItem {
    /// Returns the options for this image.
    func options(_ form: OptionsBox) -> OptionsBox {
        guard hasOwnOptions else { return form }
        return form.with { options in
            options.request.headers += headers
            if let processor { options.processor = options.processor.inserting(processor, before: options.lateSteps) }
        }
    }
}
