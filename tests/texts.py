"""Texts for the tests."""

from __future__ import annotations

ENGLISH = (
    "The harbour froze over in the night, and by morning the ferries stood white at their piers. "
    "Fishermen who had not seen such ice since their childhood walked out to the breakwater and back, "
    "carrying thermos flasks and a sledge with a sleeping dog on it. The harbour master closed the "
    "northern basin at nine, an hour after the first car had been driven onto the ice for a bet. Nobody "
    "was hurt. The bakery sold out of rye bread before ten, and the school sent its older classes down to "
    "measure the thickness of the ice with a borrowed drill. Eleven centimetres, they wrote on the board. "
    "The tugboat that keeps the channel open is due from the capital on Thursday, provided the wind turns."
)
OTHER_ENGLISH = (
    "A committee of retired engineers has spent the past year counting the lamps in the old tunnel, and its "
    "report arrived on Monday in a blue folder. One lamp in five is dark. The cables behind the tiles date "
    "from the first electrification, and nobody alive remembers which fuse belongs to which section. The "
    "city council will vote in March on a plan to replace the whole installation with lights that need "
    "a tenth of the power. Cyclists, who use the tunnel most, asked for a handrail instead. The committee "
    "has offered to count the cyclists next."
)
CHINESE = (
    "港口在夜里结了冰，到了早晨，渡轮都披着白霜停在码头边。许多渔民自童年以后就没有见过这样的冰，他们提着热水瓶，"
    "拖着雪橇，一直走到防波堤再走回来。九点钟，港务长关闭了北港池，因为一个小时以前有人为了打赌把第一辆汽车开上了冰面。"
    "没有人受伤。面包房的黑麦面包不到十点就卖完了，学校让高年级的学生带着借来的钻头去量冰的厚度。他们在黑板上写道："
    "十一厘米。如果风向转变，负责维持航道的拖轮将在星期四从首都抵达，届时渡轮可望恢复通航。"
)
OTHER_CHINESE = (
    "一个由退休工程师组成的委员会花了一年时间清点老隧道里的灯，报告在星期一装在一个蓝色文件夹里送到了市政厅。"
    "每五盏灯里就有一盏不亮。瓷砖后面的电缆还是第一次通电时铺设的，如今已经没有人记得哪一根保险丝管哪一段。"
    "市议会将在三月份表决一项计划，把全部设备换成耗电只有十分之一的新灯。最常使用隧道的骑车人要求的却是一道扶手。"
    "委员会表示，接下来愿意再去清点一下骑车的人数，好让议员们心里有数。"
)
