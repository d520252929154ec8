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

/// Items with what is to be retrieved of them. The retrievals are in one array: an array for each item would cost a hit of a
/// list 900 instructions.
struct PrefetchCandidates: Sendable {
    /// The items whose records have no error.
    private(set) var items: [PrefetchItem]
    /// The retrievals of all forms of the first item, then those of the next.
    private(set) var retrievals: [Retrieval] = []
    /// The other items, with their errors.
    private(set) var invalid: [(item: PrefetchItem, error: KingfisherError)] = []
    private let forms: Int

    /// The options of each form, for all items alike or for each of them.
    enum Forms: Sendable {
        case same([OptionsBox])
        case own([Result<[OptionsBox], KingfisherError>], count: Int)
    }

    /// Returns the options for the items. Modifiers without an identity run.
    static func prepared(
        _ items: [PrefetchItem], _ forms: [OptionsBox], _ manager: KingfisherManager
    ) async -> Forms {
        let forms = forms.map { $0.identified(by: manager) }
        if forms.allSatisfy(\.value.request.isPrepared) { return .same(forms) }
        var own: [Result<[OptionsBox], KingfisherError>] = []
        for item in items {
            do throws(KingfisherError) {
                let source = try item.source.get()
                var boxes: [OptionsBox] = []
                for form in forms {
                    boxes.append(OptionsBox(try await manager.prepared(item.options(form).value, for: source)))
                }
                own.append(.success(boxes))
            } catch {
                own.append(.failure(error))
            }
        }
        return .own(own, count: forms.count)
    }

    /// Takes the items of a block with the options for them.
    init(_ all: [PrefetchItem], _ forms: Forms, _ manager: KingfisherManager, _ lock: LockedRun?) {
        items = all
        self.forms = forms.count
        retrievals.reserveCapacity(all.count * forms.count)
        for (index, item) in all.enumerated() {
            do throws(KingfisherError) {
                let source = try item.source.get()
                var pin = item.hash
                if pin == nil, let lock { pin = try lock.pin(of: source) }
                switch forms {
                case .same(let boxes):
                    for box in boxes {
                        retrievals.append(Retrieval(source, item.options(box), manager.cache, pin: pin))
                    }
                case .own(let own, _):
                    retrievals += try own[index].get().map { Retrieval(source, $0, manager.cache, pin: pin) }
                }
            } catch {
                if invalid.isEmpty { items.removeLast(all.count - index) }
                invalid.append((item, error))
                continue
            }
            if !invalid.isEmpty { items.append(item) }
        }
    }

    /// The cache of all images; nil if there are several, or none.
    var cache: ImageCache? {
        guard let cache = retrievals.first?.cache else { return nil }
        return retrievals.allSatisfy { $0.cache === cache } ? cache : nil
    }

    /// The places of an item's retrievals.
    func places(_ index: Int) -> Range<Int> { index * forms..<(index + 1) * forms }

    /// Returns the item with its retrievals, to be fetched.
    func wish(_ index: Int) -> PrefetchWish {
        PrefetchWish(item: items[index], retrievals: Array(retrievals[places(index)]))
    }
}

/// An item to be fetched.
struct PrefetchWish: Sendable {
    let item: PrefetchItem
    /// The retrieval of each form.
    var retrievals: [Retrieval] = []
    /// The terms of asking its source, if a look-up found that it is missing.
    var asking: Asking?

    /// Returns the remembered refusal of an image that is absent in all of its forms, of which `seen` is what a look-up has
    /// shown; nil if it may be asked for.
    static func refusal(
        of retrievals: ArraySlice<Retrieval>, _ seen: ArraySlice<ImageCache.Seen>, now: Timestamp
    ) -> KingfisherError? {
        guard case .absent(.entry(let answer))? = seen.first, seen.allSatisfy(\.isAbsent),
            let first = retrievals.first, first.cache === first.originals, first.cache.layers.isEmpty
        else { return nil }
        return first.refusal(by: .entry(answer), now: now)
    }
}

extension PrefetchCandidates.Forms {
    fileprivate var count: Int {
        switch self {
        case .same(let boxes): boxes.count
        case .own(_, let count): count
        }
    }
}

extension OptionsBox {
    fileprivate func identified(by manager: KingfisherManager) -> OptionsBox {
        let options = manager.identified(value)
        return options.request.responderIdentity == value.request.responderIdentity ? self : OptionsBox(options)
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
